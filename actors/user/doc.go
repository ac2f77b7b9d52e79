// Package user is the actor of one user: fixes, friends, the view of who is
// near, sharing, devices. State is its Core.
//
// How it works. A user and each friend who is online tell each other where they
// are, as Told messages between their actors, and only when it matters (quiet
// zones, owe.go). Each decides alone who is in its own view, from its own
// position and from what the friends told (view.go). A friend who is offline
// takes no memory: whoever comes online introduces itself to those who are
// (sync.go), and the other end reads that one friendship from the store before
// it answers, so that nobody is told anything on an outdated permission.
//
// Invariants, at rest (no message under way) unless said otherwise:
//
//	U1  A friend is in the view iff both share as Mutual asks, both have a
//	    position, the friend reported within StaleAfter, and the distance is at
//	    most the viewer's radius, or at most its exit radius if the friend was in
//	    the view already.
//	U2  Every change of the view is pushed to every connection, in order; a full
//	    view replaces what was there. `entered` stands on transitions only.
//	U3  Always: no Told with a position goes to somebody with whom the user does
//	    not share, and none before the store said who the friends are.
//	U4  Always: to a friend with `area`, every position told is a centre of
//	    presence.AreaGrid, without speed, heading and accuracy.
//	U5  Always: a user is told nothing about somebody farther away than the quiet
//	    zone demands, and no pair within either exit radius is unknown to either.
//	U6  Only a fix that is newer than the device's last one, not older than
//	    StaleAfter, moves the user; every fix goes to history, once per Report.
//	U7  A fix less accurate than presence.CoarseAccuracy is shown to those who
//	    are near, and moves nobody in or out.
//	U8  A fix that would need more than MaxSpeed counts only when the next one
//	    agrees with it, or when JumpHold passes without one that disagrees.
//	U9  Friends see a user leave at most once for each time they saw them enter:
//	    not when one of several devices leaves, not within Grace.
//	U10 Things told by one user take effect in the order of their Version,
//	    settings of one friendship in the order of their Rev, however they arrive.
//	U11 Resync repairs whatever was lost, and changes nothing when nothing was.
//	U12 A share ends at its end, without anybody sending anything.
//	U13 Memory: one entry per friend online, one slot per friend in range, at most
//	    MaxConns connections, MaxDevices devices and MaxWaiting introductions.
package user
