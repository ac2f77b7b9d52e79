package gateway

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// allowance is what one caller may do over HTTP.
type allowance struct {
	requests *rate.Limiter
	fixes    *rate.Limiter
}

// allowances remembers what callers have used up. It holds at most 2 x most of
// them: when the young generation is full it becomes the old one, and what was
// old, unused since, is forgotten. A forgotten caller starts with a full burst.
type allowances struct {
	mu         sync.Mutex
	young, old map[string]*allowance
	most       int
	fresh      func() *allowance
}

func newAllowances(most int, fresh func() *allowance) *allowances {
	return &allowances{young: map[string]*allowance{}, most: most, fresh: fresh}
}

func (a *allowances) of(caller string) *allowance {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := a.young[caller]; got != nil {
		return got
	}
	if len(a.young) >= a.most {
		a.old, a.young = a.young, map[string]*allowance{}
	}
	got := a.old[caller]
	if got == nil {
		got = a.fresh()
	}
	delete(a.old, caller)
	a.young[caller] = got
	return got
}

// size is how many callers are remembered.
func (a *allowances) size() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.young) + len(a.old)
}

// spend takes n from l, or returns how long to wait until n can be had. More
// than the burst can never be had; the wait is then for a full burst.
func spend(l *rate.Limiter, now time.Time, n int) (wait time.Duration) {
	if l.AllowN(now, n) {
		return 0
	}
	r := l.ReserveN(now, min(n, l.Burst()))
	wait = r.DelayFrom(now)
	r.CancelAt(now)
	return max(wait, time.Millisecond)
}
