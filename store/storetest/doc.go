// Package storetest is the contract that every store must pass: Run, called by
// the tests of each implementation. It knows none of them. Tests name the
// invariant of package store that they cite (S1 to S6).
//
// What the suite fixes beyond the comments of package store:
//
//   - Request by someone who blocks the other ends that block. Request counts
//     against MaxFriends together with the requests that wait.
//   - An ended friendship in an Outcome has Mine.Mode = None.
//   - SetShare and SetAll that change nothing leave Rev as it is.
//   - Accept of one who is a friend already is no error; Decline is ErrNotFound.
//   - A query of a user who does not exist gives an empty page. A Limit out of
//     range counts as the nearest that is in it.
//   - Of two rows with one (user, device, seq, stamp) the first stays, wherever the
//     second would stand.
//   - A Seq above 2^63−1 is kept as it is; its order among rows of the same TS
//     and device is not fixed.
//   - A context that has ended gives its error, and nothing is changed.
//   - After Close every call gives ErrUnavailable.
package storetest
