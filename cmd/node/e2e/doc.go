// Package e2e proves what Kith promises, on the real binary over real sockets:
// it builds cmd/node once, starts it on spare loopback ports with temporary
// data, and looks at it as a client, an operator or an attacker would. Nothing
// of the server's code is imported, so that a fault in it cannot hide here.
//
// What is proven, each by the tests of the same letter:
//
//	E1  Recorded journeys, replayed: every near and gone that a brute-force pass
//	    over the file predicts is seen by both sides, in order, and none else.
//	E2  A fix that was acknowledged is in history after a kill -9 at any moment,
//	    and none is there twice; a graceful stop loses nothing.
//	E3  A reconnect within the grace is invisible, a user is offline only when
//	    the last device is, and then once for each near friend.
//	E4  Bytes that are no protocol get their code, and nobody else notices.
//	E5  Who does not read costs bounded memory and is closed; who reads slowly
//	    stays, and gets the newest.
//	E6  Connections that come and go leave nothing behind.
//	E7  PROTOCOL.md, message by message and call by call.
//	E8  What `kith dev` prints works as printed.
//
// The tests named TestDemo show themselves with -v (`make demo`). Those named
// TestSoak are short unless KITH_SOAK is set (`make soak`).
package e2e
