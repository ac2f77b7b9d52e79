package host

import "time"

// clock counts time in ticks since the host began.
type clock struct {
	now   func() time.Time
	start time.Time
	grain time.Duration
}

// passed is the number of whole ticks until t.
func (c *clock) passed(t time.Time) uint64 {
	return uint64(max(0, t.Sub(c.start)) / c.grain)
}

// due is the first tick at or after t, as it looks at now.
//
// Ticks follow the monotonic clock, which nobody sets, while t is a time of day:
// Cores reckon in those. So it is the time from now to t that counts. After the
// wall clock was set, or the machine slept, a timer comes when the time that it
// was meant to wait has passed; a Core for which it is too early asks again.
func (c *clock) due(t, now time.Time) uint64 {
	d := max(0, now.Sub(c.start)) + max(0, t.Sub(now.Round(0)))
	n := uint64(d / c.grain)
	if d%c.grain != 0 {
		n++
	}
	return n
}

// at is the time of a tick.
func (c *clock) at(tick uint64) time.Time { return c.start.Add(time.Duration(tick) * c.grain) }
