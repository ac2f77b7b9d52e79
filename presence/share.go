package presence

import (
	"errors"

	"github.com/kith-nearby/kith/geo"
)

// Mode is how precisely a user lets a friend see them.
type Mode uint8

// The modes. Exact is the zero value: friends share mutually by default.
const (
	Exact Mode = iota
	Area       // snapped to AreaGrid before it leaves the user's actor
	None       // not seen at all
)

// AreaGrid is the metre grid of `area` sharing.
var AreaGrid = geo.NewGrid(1000)

var modeNames = [...]string{Exact: "exact", Area: "area", None: "none"}

func (m Mode) String() string { return modeNames[m] }

// ErrMode lists the modes.
var ErrMode = errors.New("mode is one of exact, area, none")

// ParseMode returns the mode called s, or ErrMode.
func ParseMode(s string) (Mode, error) {
	for m, name := range modeNames {
		if s == name {
			return Mode(m), nil
		}
	}
	return None, ErrMode
}

// Share is a mode with an optional end. What comes after the end never shows
// more than was meant: a share of `exact` or `area` ends in None, and a time of
// None ends in what was to last before it.
type Share struct {
	Mode  Mode
	Until Millis // 0 = no end
	Then  Mode   // the mode from Until on
}

// NewShare returns the share that replaces before, from now on.
func NewShare(mode Mode, until Millis, before Share) Share {
	s := Share{Mode: mode, Until: until}
	if until == 0 {
		return s
	}
	s.Then = None
	if mode == None {
		s.Then = before.lasting()
	}
	return s
}

// lasting is the mode in which s ends up. Only it may follow a time of None:
// what s is at some moment before its own end would then have no end.
func (s Share) lasting() Mode {
	if s.Until != 0 {
		return s.Then
	}
	return s.Mode
}

// At returns the mode in force at now.
func (s Share) At(now Millis) Mode {
	if s.Until != 0 && now >= s.Until {
		return s.Then
	}
	return s.Mode
}

// Tighter returns the less revealing of two modes.
func Tighter(a, b Mode) Mode { return max(a, b) }

// Friendship is one friend of a user, as the store has it.
type Friendship struct {
	Friend UserID
	Public PublicID
	Mine   Share  // how the user shares with the friend
	Rev    uint64 // rises with every change of this friendship, by either side
}
