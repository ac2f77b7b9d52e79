package kith

import (
	"time"
)

// Pauses between connections.
const (
	firstPause  = 500 * time.Millisecond
	longest     = 20 * time.Second
	stableAfter = time.Minute      // a connection this long ends the row of failures
	mostHint    = 60 * time.Second // of retry_after_ms
)

// pauses decides how long to wait before the next connection: full jitter, that
// is anything from nothing up to a bound that doubles with each failure in a row.
type pauses struct {
	failures int
	hint     time.Duration // of the server, for the next pause only
	hinted   bool
	rand     func() float64 // in [0, 1)
}

// suggest takes a server's retry_after_ms.
func (p *pauses) suggest(ms int64) {
	p.hint = min(time.Duration(max(ms, 0))*time.Millisecond, mostHint)
	if ms > mostHint.Milliseconds() { // before the product overflows
		p.hint = mostHint
	}
	p.hinted = true
}

// next returns the pause after a connection that lasted so long. at once asks
// for none, and is heard only after a connection that worked.
func (p *pauses) next(lasted time.Duration, atOnce, worked bool) time.Duration {
	if lasted >= stableAfter {
		p.failures = 0
	}
	if p.hinted {
		p.hinted = false
		p.failures++
		return p.hint
	}
	if atOnce && worked && p.failures == 0 {
		p.failures++
		return 0
	}
	bound := min(firstPause<<min(p.failures, 10), longest)
	p.failures++
	return time.Duration(p.rand() * float64(bound))
}
