// Package gateway is the edge that clients meet: WebSockets (docs/PROTOCOL) and
// HTTP. It declares the ports that it needs of the rest (ports.go) and knows
// nothing of actors.
//
// # WebSocket side
//
// Hub is every connection of the node, for those who speak to clients: the
// actors' host and the history writer. Sockets takes new connections. A Conn is
// one connection: its reading goroutine (conn.go, conn_read.go, conn_handle.go,
// conn_report.go) owns it from the upgrade to the end. There is no writing
// goroutine; one exists only while something waits to be written (writer.go),
// at most one for each connection. What waits is kept as state, the newest of
// each friend (writer_view.go), and not as a backlog. One timing wheel
// (wheel.go, pulse.go) serves the deadlines of all connections.
//
// Queues and what bounds them: events of one connection, 64 (a client that does
// not read its own answers is not read from; one that leaves notices unread is
// closed 4101); the view of one connection, one entry for each friend; batches
// not yet durable, three numbers a connection, however many they are; addresses
// remembered for the connect rate, 2 × 16 384; messages noted of a user whom the
// operator watches, 64 of at most 8 users (hub_trace.go).
//
// Invariants (cited by tests as TestGW1_…):
//
//	GW1  After connect is accepted, `connected` is the first frame; the `ok` of
//	     radius precedes the view that follows from it.
//	GW2  Before connect only connect is taken, everything else is answered
//	     not_connected; after ConnectWithin the connection is closed 4004.
//	GW3  An actor is attached only for a valid token of a user who exists, and
//	     every Attach is followed by one Detach.
//	GW4  An ack of S covers no fix of this connection that is on its way, and
//	     what is accepted and durable is acknowledged. Fixes reach the actor in
//	     rising seq. A refused fix gets its error and is nowhere else.
//	GW5  After a loss there is no ack on that connection, and once history takes
//	     fixes again it is closed 4104, so that the client sends again.
//	GW6  A call to the accounts takes at most CallWithin; its errors become codes
//	     of one table, and nothing of their text gets out.
//	GW7  A connection lives no longer than its token: `expiring` before the end,
//	     4002 at the end. A fresh token must be of the same user.
//	GW8  Who may not connect is refused before the upgrade: origin, subprotocol,
//	     readiness, limits. What is refused for now says when to come back.
//	GW9  What is pushed to a connection that is open reaches the client, in
//	     order for events, with v rising for views; calls for connections that
//	     are gone do nothing.
//	GW10 A client that is silent is pinged after PingEvery, and closed 4102 if it
//	     sends no frame within PongWithin although it has read the ping.
//	GW11 A client gets FixesPerS frames a second, with bursts; what is beyond is
//	     refused too_many. More than ten times that for five seconds is 4005.
//	GW12 A drain tells each client its own time to come back, closes 4100 paced
//	     over the window, and ends with its context or a second call.
//	GW13 No bytes of a client end anything but its own connection, and its memory
//	     grows only with bytes that have arrived.
//	GW14 Conflation is exact: after everything is written the client has what the
//	     actor sees; nobody is gone who was not near; `entered` is never lost.
//	GW15 A client that takes no byte for StallAfter is closed 4101. One that reads
//	     slowly stays, with bounded memory, and gets the newest of each friend.
//	GW16 Metrics and logs hold no user, no token and no position.
//	GW17 A panic ends one connection, with 4103. After Stop no goroutine and no
//	     file descriptor of the hub is left.
//
// Decided here: a binary message closes 4000, since such a client was written
// for something else. A `fixes` frame counts as one frame for the rate and by
// its fixes against a backlog bucket, so that a device can send what it gathered
// without a network. A token that only the leeway let in lives to the end of the
// leeway. Loopback addresses have no connect rate of their own: a proxy there
// stands for many clients.
package gateway
