package sim

import (
	"sync"
	"time"
)

// lagKept is how long the oracle remembers how slow things were, in seconds.
const lagKept = 60

// lag is the longest that messages have lately been under way. What is in flight
// is no fault, and on a busy machine it is in flight for longer.
type lag struct {
	mu    sync.Mutex
	least time.Duration // that is always allowed for
	worst [lagKept]struct {
		second int64
		took   time.Duration
	}
}

// note takes in that something took so long, or has taken so long already.
func (l *lag) note(now, took time.Duration) {
	if 2*took <= l.least {
		return
	}
	second := int64(now / time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &l.worst[second%lagKept]
	if w.second != second {
		w.second, w.took = second, 0
	}
	w.took = max(w.took, took)
}

// allow is how long a message may be under way: twice the longest that one was
// in the last minute.
func (l *lag) allow(now time.Duration) time.Duration {
	second := int64(now / time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := l.least
	for i := range l.worst {
		if w := &l.worst[i]; second-w.second < lagKept {
			longest = max(longest, 2*w.took)
		}
	}
	return longest
}
