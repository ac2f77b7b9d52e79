// Package host runs Cores on protoactor. It is the only package besides cmd/node
// that imports it.
//
// Users run in shards, as processes run on the BEAM's schedulers: a shard is one
// protoactor actor that owns some of the users' Cores for life. Its mailbox
// carries (user, message) pairs in chunks; what its Cores send to each other goes
// through a queue of its own, and what they send to other shards leaves as chunks
// at the end of a turn. All other kinds of actor are one protoactor actor each
// (lone). Both have the same mailbox, which protoactor's own would not do for:
// those can be reached before they can run, never shrink, and one of them spins.
//
//	Send, Start, Ask ──► mailbox ──► shard.turn ──► Core.Step ──► effects
//	   (any goroutine)      ▲             │ ▲                      │
//	                        │             └─┘ local backlog        ├─► Clients, Recorder
//	   pulse (timers) ──────┤                                      ├─► loads ──► Loader, Locator
//	   loads (answers) ─────┘◄─────────────────────────────────────┘
//
// Timers stand in hierarchical timing wheels: each shard has one of its own,
// since a timer is set with nearly every message and this way needs no lock; the
// lone actors share one. A single goroutine, the pulse, sleeps until the
// earliest of all.
//
// Invariants:
//
//	H1  Only a starting message starts an actor. What reaches no actor is
//	    dropped and counted. Messages between actors of a node are dropped for
//	    no other reason, except at a lone actor's full mailbox, counted too.
//	H2  The effects of a Step are applied in order; those of a Step that
//	    panicked are discarded.
//	H3  No two Steps of a Core run at once, and none after its Stop or panic.
//	H4  Messages of one sender to one receiver arrive in order, also while the
//	    receiver stops and starts again. Those from the first starting message
//	    on reach the new life.
//	H5  A wheel gives back each timer once, at its tick or at the first look
//	    after it, never before, earliest first.
//	H6  An actor has at most one timer. Its Tick comes at or after its time,
//	    once; a new Timer replaces it, and the end of the actor cancels it.
//	H7  A panic in a Core ends that actor only. Its connections are closed with
//	    presence.Internal. What is logged names functions, never contents.
//	H8  Every Ask ends: by the reply, or with an error at once if there is no
//	    actor, when the actor ends, when the caller's context does, or at Close.
//	    Nothing is kept of it.
//	H9  The answer to LoadFriends, LoadFriend and Locate reaches only the life of
//	    the actor that asked. A full queue is answered with an error.
//	H10 Locate finds who had an actor when it was asked. Of two users who ask for
//	    each other as soon as they start, at least one finds the other.
//	H11 An idle mailbox, backlog and actor hold no queue memory. The host costs
//	    at most 80 bytes for each user, beside the Core.
//	H12 Over the high-water mark Admit waits, until low water, AdmitWait, its
//	    context or Close. Send and Start never block.
//	H13 Close finishes what is queued, ends every goroutine, and may be called
//	    again. Send, Start, Ask and Admit after it do no harm.
//	H14 Every actors.Counter is a metric.
//	H15 Resync reaches every user who was there when it was called, spread over
//	    its pace.
//	H16 Quiesce returns at a moment without work.
package host
