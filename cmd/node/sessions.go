package main

import (
	"sync/atomic"
	"time"

	"github.com/kith-nearby/kith/presence"
)

// sessions gives out session numbers: the time at which each begins, raised
// where needed to exceed every number given before, so that a clock that is set
// back makes nobody look older than they were.
type sessions struct {
	last atomic.Uint64
}

func (s *sessions) next(now time.Time) presence.Session {
	for {
		last := s.last.Load()
		n := max(uint64(max(now.UnixMicro(), 0)), last+1)
		if s.last.CompareAndSwap(last, n) {
			return presence.Session(n)
		}
	}
}
