package presence

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/kith-nearby/kith/geo"
)

// State says how present a user is.
type State uint8

// The states, from most to least present.
const (
	Live    State = iota // the last report is a fix
	Idle                 // the last report is a still
	Stale                // no report for stale_after
	Offline              // no session
)

var stateNames = [...]string{Live: "live", Idle: "idle", Stale: "stale", Offline: "offline"}

func (s State) String() string { return stateNames[s] }

// StateAt is the one rule of expiry, used by every view: what a user who
// reported last at heard is at now, by the server's clock. still says that the
// last report was a Still.
func StateAt(now, heard Millis, still bool, staleAfter Millis) State {
	switch {
	case now-heard >= staleAfter:
		return Stale
	case still:
		return Idle
	}
	return Live
}

// Reason says why a friend left a view.
type Reason uint8

// The reasons.
const (
	Away       Reason = iota // farther than the exit radius
	Silent                   // no report for stale_after ("stale")
	Left                     // the last connection closed ("offline")
	Hidden                   // one of the two does not share with the other
	Unfriended               // no longer friends
)

var reasonNames = [...]string{Away: "away", Silent: "stale", Left: "offline", Hidden: "hidden", Unfriended: "unfriended"}

func (r Reason) String() string { return reasonNames[r] }

// Reasons lists every Reason, for metrics.
func Reasons() []Reason { return []Reason{Away, Silent, Left, Hidden, Unfriended} }

// Position is what a friend may know of a user at one moment: already as
// precise as the share allows. It is made once and shared by everybody who gets
// it, so it is immutable; only Encoded is filled in later, by whoever encodes
// it first.
type Position struct {
	User      PublicID
	At        geo.Point
	TS        Millis
	Accuracy  float32 // metres; NaN = unknown
	Speed     float32 // m/s; NaN = unknown
	Heading   float32 // degrees; NaN = unknown
	Battery   float32 // 0 to 1; NaN = unknown
	State     State
	Precision Mode   // Exact or Area
	Born      Micros // when the report reached the server, for latency figures

	// Encoded caches the wire form, which is the same for every receiver.
	Encoded atomic.Pointer[[]byte]
}

// Copy returns a Position that says the same, to be changed before it is shown
// to anybody.
func (p *Position) Copy() *Position {
	return &Position{
		User: p.User, At: p.At, TS: p.TS, Accuracy: p.Accuracy, Speed: p.Speed, Heading: p.Heading,
		Battery: p.Battery, State: p.State, Precision: p.Precision, Born: p.Born,
	}
}

// Near is one friend in a view, as pushed to a client.
type Near struct {
	Position *Position
	Distance float32 // metres
	Bearing  float32 // degrees in [0, 360)
	Entered  bool    // true only on the transition
}

// Gone is one friend who left a view.
type Gone struct {
	User   PublicID
	Reason Reason
}

// Change is what a client must change in its view. Full replaces all before.
type Change struct {
	Full bool
	Near []Near
	Gone []Gone
}

// Welcome answers a new connection.
type Welcome struct {
	Session    Session
	Radius     float32 // metres within which a friend enters the view
	ExitRadius float32 // metres beyond which a friend leaves it
}

// ExitRadius is how far a friend who is in a view of the given radius may go
// before leaving it: farther than the radius, so that one on the edge does not
// flicker.
func ExitRadius(radius float32) float32 { return max(1.05*radius, radius+50) }

// String counts the change without positions.
func (c *Change) String() string {
	var b strings.Builder
	if c.Full {
		b.WriteString("full")
	}
	for _, n := range c.Near {
		fmt.Fprintf(&b, " near(%s %s %s", n.Position.User, n.Position.State, n.Position.Precision)
		if n.Entered {
			b.WriteString(" entered")
		}
		b.WriteByte(')')
	}
	for _, g := range c.Gone {
		fmt.Fprintf(&b, " gone(%s %s)", g.User, g.Reason)
	}
	return strings.TrimSpace(b.String())
}

// Notice tells a client of something that happened between two users.
type Notice struct {
	Kind NoticeKind
	User PublicID
}

// NoticeKind says which.
type NoticeKind uint8

// The notices.
const (
	Requested NoticeKind = iota // a friend request has arrived
	Accepted                    // a friend request of mine was accepted
	Removed                     // a friend removed me
)
