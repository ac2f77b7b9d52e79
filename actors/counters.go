package actors

import "github.com/kith-nearby/kith/presence"

// Counter is something that Cores count, for metrics.
type Counter uint8

// The counters. GoneBy is followed by one for each presence.Reason.
const (
	Entered      Counter = iota // friends who entered a view
	GoneBy                      // friends who left a view, by reason
	_                           // stale
	_                           // offline
	_                           // hidden
	_                           // unfriended
	Owed                        // messages to a friend that were owed, and sent
	Avoided                     // messages to a friend that a quiet zone saved
	FixLive                     // fixes that moved their user
	FixLate                     // fixes older than the user's current one: history only
	FixDuplicate                // fixes seen before
	FixHeld                     // fixes too far from the last to be believed at once
	FixCoarse                   // fixes too inaccurate to decide who is near
	FixFuture                   // fixes ahead of the server's clock, taken at its time
	ToldLate                    // things told that were older than what is known
	ToldUnknown                 // things told by somebody who is not a friend
	PendingFull                 // introductions dropped because too many wait for the store
	Unhandled                   // messages that a Core does not know
	Counters                    // how many there are
)

// GoneFor is the counter of friends who left a view for reason r.
func GoneFor(r presence.Reason) Counter { return GoneBy + Counter(r) }
