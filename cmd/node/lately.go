package main

import (
	"sync"
	"time"

	"github.com/kith-nearby/kith/presence"
)

const (
	latelyFor = time.Minute
	maxLately = 1 << 14 // pairs in each of the two generations, 40 bytes each
)

// lately remembers what was done from one user to another within the last
// minute. When too much is, it forgets some of that sooner. Its zero value is
// ready.
type lately struct {
	mu         sync.Mutex
	young, old map[doneTo]time.Time // old is dropped whole when young is full
}

type doneTo struct{ from, to presence.UserID }

// forget makes the next time the first one.
func (l *lately) forget(from, to presence.UserID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.young, doneTo{from, to})
	delete(l.old, doneTo{from, to})
}

// first says whether it was not done within the last minute. If so it is now.
func (l *lately) first(from, to presence.UserID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	pair := doneTo{from, to}
	for _, known := range [...]map[doneTo]time.Time{l.young, l.old} {
		if at, ok := known[pair]; ok && now.Sub(at) < latelyFor {
			return false
		}
	}
	if l.young == nil || len(l.young) >= maxLately {
		l.young, l.old = make(map[doneTo]time.Time), l.young
	}
	l.young[pair] = now
	return true
}
