package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// sessions gives out session numbers: the time at which each begins, raised
// where needed to exceed every number given before, so that a clock that is set
// back makes nobody look older than they were. That it holds over a restart too,
// the store keeps a bound of all numbers, which is written ahead of them.
type sessions struct {
	store store.Counters
	now   func() time.Time
	log   *slog.Logger

	last    atomic.Uint64
	bound   atomic.Uint64 // as stored: no number given is above it, while the store keeps up
	short   chan struct{} // a number came that is above it, as when the clock leaps
	cancel  context.CancelFunc
	keeping sync.WaitGroup
}

const (
	sessionsAhead = time.Minute      // how far the bound is set ahead of the clock
	sessionsEvery = 20 * time.Second // how often
	sessionsAgain = time.Second      // how soon again after an error
)

// openSessions continues above the stored bound.
func openSessions(ctx context.Context, counters store.Counters, now func() time.Time, log *slog.Logger) (*sessions, error) {
	s := &sessions{store: counters, now: now, log: log, short: make(chan struct{}, 1)}
	last, err := counters.Raise(ctx, store.Sessions, 0)
	if err != nil {
		return nil, fmt.Errorf("read the last session number: %w", err)
	}
	s.last.Store(last)
	if err := s.reserve(ctx); err != nil {
		return nil, err
	}
	ctx, s.cancel = context.WithCancel(context.Background())
	s.keeping.Go(func() { s.keep(ctx) })
	return s, nil
}

func (s *sessions) close() {
	s.cancel()
	s.keeping.Wait()
}

// next never waits for the store: a number above the bound is a number all the
// same, and the bound follows at once.
func (s *sessions) next(now time.Time) presence.Session {
	for {
		last := s.last.Load()
		n := max(uint64(max(now.UnixMicro(), 0)), last+1)
		if !s.last.CompareAndSwap(last, n) {
			continue
		}
		if n > s.bound.Load() {
			select {
			case s.short <- struct{}{}:
			default:
			}
		}
		return presence.Session(n)
	}
}

// reserve sets the bound ahead.
func (s *sessions) reserve(ctx context.Context) error {
	n := max(s.last.Load(), uint64(max(s.now().UnixMicro(), 0))) + uint64(sessionsAhead.Microseconds())
	bound, err := s.store.Raise(ctx, store.Sessions, min(n, math.MaxInt64))
	if err != nil {
		return fmt.Errorf("reserve session numbers: %w", err)
	}
	s.bound.Store(bound)
	return nil
}

func (s *sessions) keep(ctx context.Context) {
	wait := sessionsEvery
	for {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.short:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		within, cancel := context.WithTimeout(ctx, writeTimeout)
		err := s.reserve(within)
		cancel()
		wait = sessionsEvery
		if err != nil && ctx.Err() == nil {
			s.log.Warn("session numbers: trying again", "err", err)
			wait = sessionsAgain
		}
	}
}
