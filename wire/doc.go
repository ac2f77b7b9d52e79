// Package wire is what clients and Kith say to each other: the JSON frames of
// docs/PROTOCOL, checked on the way in and appended on the way out, and the
// tables of error and close codes. It has no clock, no I/O and no state.
//
// In: Decode turns the bytes of one frame into a Frame; DecodeReport does the
// same for the body of POST /v1/fixes. A Checker turns a RawFix, wherever it
// came from (WebSocket, HTTP, OwnTracks), into a presence.Fix. Out: Append…
// functions append one frame to a buffer of the caller, without reflection.
//
// Invariants (cited by tests as TestW1_…):
//
//	W1  Decode never panics, and never allocates more than a small multiple of
//	    its input: objects and arrays nest at most MaxDepth deep, a number has
//	    at most MaxNumber bytes, a report has at most MaxFixes fixes.
//	W2  Every error has a Code of the table and a sentence; an error about one
//	    field names it. The id and the seq of the frame come back with it where
//	    they could be read.
//	W3  What is not JSON, names a member twice, is no object, or goes beyond the
//	    bounds of W1 is bad_json. A wrong type or a missing required member is
//	    bad_field. Members that the type of the frame does not have are ignored,
//	    whatever they hold.
//	W4  A Fix that a Checker returns holds a valid Point, TS never ahead of the
//	    server's clock by more than a minute, Heading in [0, 360), and floats
//	    that are finite or unset.
//	W5  Every appended frame is one valid JSON object that says what went in, to
//	    the decimals given at the function; latitude and longitude are exact.
//	W6  The part of a friend's entry that is the same for every receiver is
//	    encoded once per Position, whoever asks first.
//	W7  Error codes and close codes stand in one table each: unique, complete,
//	    each with a sentence and the anchor of its description.
//
// What a number may be. A latitude or longitude that is a number but not finite
// (1e999) or out of range is bad_coordinate; one that is no number at all (a
// string, null, an object) is bad_field. Optional members may be null, which is
// the same as leaving them out: that is how browsers write an unknown speed. An
// optional measurement that cannot be true is dropped alone and the fix kept:
// acc that is zero or negative, speed that is negative or above MaxSpeed, a
// negative heading, battery outside 0 to 1, alt beyond MaxAltitude.
package wire
