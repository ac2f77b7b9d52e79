package user

import (
	"errors"
	"fmt"
	"time"

	"github.com/kith-nearby/kith/presence"
)

// Config is how users behave on this node. It is shared by all of them and
// never changes while they run.
type Config struct {
	Radius     float32       // metres within which a friend is shown, unless the user sets another
	MaxRadius  float32       // metres; the most that a user can set
	StaleAfter time.Duration // a friend disappears after no fix or still for this long
	Grace      time.Duration // how long friends still see a user whose last connection closed
	Mutual     bool          // a user sees only friends with whom they share themselves

	// Settle is how long a first view waits for friends to answer before it is
	// sent with those who have.
	Settle time.Duration
	// MaxSpeed in m/s: a fix that would need more is held for JumpHold, in case
	// the next one says that it was a mistake. 0 = believe every fix at once.
	MaxSpeed float64
	JumpHold time.Duration
	// Retry is the first pause after the store failed; it doubles up to 32 times that.
	Retry time.Duration
}

// MinRadius is the least radius that a user can set, in metres.
const MinRadius = 100

// Default returns what PROTOCOL.md says.
func Default() Config {
	return Config{
		Radius:     8047,
		MaxRadius:  50_000,
		StaleAfter: 10 * time.Minute,
		Grace:      30 * time.Second,
		Mutual:     true,
		Settle:     250 * time.Millisecond,
		MaxSpeed:   100,
		JumpHold:   time.Second,
		Retry:      time.Second,
	}
}

// farthest is the greatest exit radius that a friend's entry can hold, in metres.
const farthest = exitStep * (1<<16 - 1)

// Validate returns all that is wrong with c, joined.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(!(c.Radius >= MinRadius), "radius is %v m; the least is %d", c.Radius, MinRadius)
	fault(!(c.MaxRadius >= c.Radius), "max radius is %v m, below the radius", c.MaxRadius)
	fault(presence.ExitRadius(c.MaxRadius) > farthest, "max radius is %v m; its exit radius may be %d at most", c.MaxRadius, farthest)
	fault(c.StaleAfter < time.Millisecond, "stale after is %v; the least is 1ms", c.StaleAfter)
	fault(c.Grace < 0, "grace is negative")
	fault(c.Settle < 0, "settle is negative")
	fault(!(c.MaxSpeed >= 0), "max speed is %v m/s; 0 switches it off", c.MaxSpeed)
	fault(c.JumpHold < 0, "jump hold is negative")
	fault(c.Retry < time.Millisecond, "retry is %v; the least is 1ms", c.Retry)
	return errors.Join(faults...)
}

func millis(d time.Duration) presence.Millis { return presence.Millis(d.Milliseconds()) }
