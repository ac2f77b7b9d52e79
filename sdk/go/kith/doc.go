// Package kith is a Kith client in Go, by the rules of docs/PROTOCOL.md: it
// keeps one connection, answers pings, keeps what is not acknowledged and sends
// it again after a reconnect, and holds the view of who is near.
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
