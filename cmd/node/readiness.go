package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pingEvery is how long an answer of the database is believed.
const (
	pingEvery   = time.Second
	pingTimeout = 2 * time.Second
)

// phase is where a node stands in its life.
type phase int32

const (
	starting phase = iota
	serving
	draining
)

// readiness implements gateway.Readiness. It never waits for the database: the
// answer is that of the last ping, and a caller who finds it old starts the next
// one, at most one at a time.
type readiness struct {
	phase atomic.Int32
	ping  func(context.Context) error
	now   func() time.Time

	mu      sync.Mutex
	asked   time.Time
	pinging bool
	down    bool
	wg      sync.WaitGroup
}

func (r *readiness) set(p phase) {
	r.mu.Lock() // so that no ping begins once set has returned
	defer r.mu.Unlock()
	r.phase.Store(int32(p))
}

// NotReady says why the node should get no new clients, or "".
func (r *readiness) NotReady() string {
	switch phase(r.phase.Load()) {
	case starting:
		return "starting"
	case draining:
		return "draining"
	}
	if r.storeDown() {
		return "store_down"
	}
	return ""
}

func (r *readiness) storeDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if phase(r.phase.Load()) == serving && !r.pinging && now.Sub(r.asked) >= pingEvery {
		r.asked, r.pinging = now, true
		r.wg.Go(r.look)
	}
	return r.down
}

func (r *readiness) look() {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	err := r.ping(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down, r.pinging = err != nil, false
}

// wait returns once no ping is under way. No more begin if the phase is not
// serving.
func (r *readiness) wait() { r.wg.Wait() }
