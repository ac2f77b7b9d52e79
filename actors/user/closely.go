package user

import (
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// DeviceState is one device of a user.
type DeviceState struct {
	Device presence.DeviceID
	Conn   presence.ConnID // 0 = not connected
	Last   presence.Millis // time of its newest fix; 0 = none
}

// Standing says how a friend who is online stands to a user.
type Standing uint8

// The standings.
const (
	StandsNear    Standing = iota // in the user's view
	StandsInRange                 // not in the view, but every fix of one is told to the other
	StandsFar                     // out of range
	StandsUnknown                 // has not said where
	StandsHidden                  // one of the two does not share with the other
)

var standingNames = [...]string{
	StandsNear: "near", StandsInRange: "in range", StandsFar: "far", StandsUnknown: "unknown", StandsHidden: "hidden",
}

func (s Standing) String() string { return standingNames[s] }

// FriendState is a friend who is online, as a user's actor knows them. It says
// where nobody is: Distance is a word.
type FriendState struct {
	User     presence.UserID
	Standing Standing
	Mine     presence.Mode   // how the user shares with them
	Heard    presence.Millis // when they last reported; 0 = not known, which it is of those in range only
	Distance string          // in powers of ten, and of those who are far only
}

func (t *turn) deviceStates() []DeviceState {
	all := make([]DeviceState, len(t.devices))
	for i, d := range t.devices {
		all[i] = DeviceState{Device: d.id, Conn: d.conn, Last: d.last}
	}
	return all
}

func (t *turn) friendStates() []FriendState {
	all := make([]FriendState, len(t.friends))
	for i := range t.friends {
		f := &t.friends[i]
		s := FriendState{User: f.id(), Standing: t.standing(f), Mine: t.modeTo(f)}
		if slot := t.slotOf(f); slot != nil && slot.shown != nil {
			s.Heard = slot.heard()
		}
		if s.Standing == StandsFar {
			s.Distance = vague(geo.Distance(t.at, f.at))
		}
		all[i] = s
	}
	return all
}

func (t *turn) standing(f *friend) Standing {
	switch {
	case f.has(near):
		return StandsNear
	case f.has(hides), t.modeTo(f) == presence.None:
		return StandsHidden
	case !f.has(knows), !t.located:
		return StandsUnknown
	case f.has(follows | toldFollows):
		return StandsInRange
	}
	return StandsFar
}

// vague is a distance in metres as a word that tells nobody's place.
func vague(metres float64) string {
	switch {
	case metres < 100_000:
		return "tens of km"
	case metres < 1_000_000:
		return "hundreds of km"
	}
	return "thousands of km"
}
