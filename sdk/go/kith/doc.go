// Package kith is a client of a Kith node: it reports where a device is, and
// holds the view of which friends are near. It goes by the rules of the
// protocol: it keeps one connection, answers pings, keeps what is not
// acknowledged and sends it again after a reconnect, backs off with jitter, and
// knows which close codes are final.
//
// A Client is one device of one user. Make it with New, let Run work in a
// goroutine of its own, and call Fix whenever there is a position. What happens
// is told to the handlers of Options; View and All say who is near at any time.
//
// Positions are WGS84 degrees, distances and accuracies metres, speeds m/s,
// angles degrees, times unix milliseconds.
//
// Invariants:
//
//	L1  A fix is kept until the server acknowledged or refused it, or until more
//	    than Options.Buffer wait; then the oldest is dropped and counted.
//	L2  Fixes are sent in rising Seq on every connection, from the first that is
//	    not acknowledged.
//	L3  View is what the last full `friends` said, with all that followed it.
//	L4  Close codes 4000–4099 end Run (an expired token is replaced first, once);
//	    others lead to a reconnect, with full jitter between them. A server's
//	    retry_after_ms is obeyed once.
//	L5  Run owns every goroutine and ends them before it returns.
package kith
