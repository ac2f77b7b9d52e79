// Package js holds the JavaScript client. It has no Go code: js_test.go runs the
// client's own tests, so that `go test ./...` covers them.
//
// Invariants, tested by the tests that name them:
//
//	J1  A fix is kept until the server acknowledged or refused it, or until more
//	    than the buffer holds wait; then the oldest is dropped and counted. With a
//	    storage that holds over restarts too.
//	J2  Fixes go out in rising seq on every connection, from the first that is not
//	    acknowledged, no faster than the server takes them.
//	J3  The view is what the last full `friends` said, with all that followed it.
//	J4  Close codes and retry_after_ms are obeyed as docs/PROTOCOL.md says.
//	J5  There is one connection at most, and one set of timers and listeners,
//	    whatever is called how often.
//	J6  A connection whose other side has vanished is noticed, and one whose other
//	    side is only quiet is kept.
package js
