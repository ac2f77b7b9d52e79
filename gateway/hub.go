package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/internal/stack"
	"github.com/kith-nearby/kith/presence"
)

// Hub is every client connection of this node, by ConnID. The actors' host and
// the history writer speak to clients through it; none of those calls blocks,
// and all may be made for connections that are gone.
type Hub struct {
	cfg     SocketConfig
	log     *slog.Logger
	metrics *socketMetrics
	conns   registry[*Conn]
	waiters registry[*Waiter]
	pulse   *pulse
	traces  traces
	began   time.Time

	connIDs, waiterIDs atomic.Uint64
	open               atomic.Int64 // connections, or upgrades on their way to be one

	ctx      context.Context // ends with Close; calls to the accounts end with it
	cancel   context.CancelFunc
	shut     sync.Mutex // guards stopped, drains and work.Add against Close
	stopped  bool
	draining atomic.Bool
	hurry    chan struct{} // closed: a drain ends at once
	work     sync.WaitGroup
}

// NewHub returns a hub whose goroutines end with Close.
func NewHub(cfg SocketConfig, reg prometheus.Registerer, log *slog.Logger) (*Hub, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m, err := newSocketMetrics(reg)
	if err != nil {
		return nil, err
	}
	h := &Hub{cfg: cfg, log: log, metrics: m, traces: traces{shown: m.traces}, began: cfg.Now(), pulse: newPulse(cfg.pulseEvery()), hurry: make(chan struct{})}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.work.Go(func() { h.pulse.run(h.clock, h.ctx.Done()) })
	return h, nil
}

// clock is the time since the hub began: never less than 0, and it does not
// jump with the wall clock.
func (h *Hub) clock() time.Duration { return h.cfg.Now().Sub(h.began) }

func millis(t time.Time) presence.Millis { return presence.Millis(t.UnixMilli()) }

func micros(t time.Time) presence.Micros { return presence.Micros(t.UnixMicro()) }

// Len is how many connections there are.
func (h *Hub) Len() int { return int(h.open.Load()) }

// Welcome tells a connection that its user's actor has taken it.
func (h *Hub) Welcome(conn presence.ConnID, w *presence.Welcome) {
	if c, ok := h.conns.get(conn); ok {
		c.welcome(w)
	}
}

// Push changes the view of a connection. The newest of each friend is kept
// until the client reads it.
func (h *Hub) Push(conn presence.ConnID, change *presence.Change) {
	if c, ok := h.conns.get(conn); ok {
		c.push(change)
	}
}

// Notify tells a connection of something that happened between two users.
func (h *Hub) Notify(conn presence.ConnID, n presence.Notice) {
	if c, ok := h.conns.get(conn); ok {
		c.notify(n)
	}
}

// Close ends a connection.
func (h *Hub) Close(conn presence.ConnID, code presence.CloseCode) {
	if c, ok := h.conns.get(conn); ok {
		c.close(code, "")
	}
}

// Durable acknowledges a batch: all of it is in history.
func (h *Hub) Durable(b *presence.Batch) {
	h.metrics.ackSeconds.Observe(float64(micros(h.cfg.Now())-b.Received) / 1e6)
	if w, ok := h.waiters.get(b.Conn); ok {
		w.settle(nil)
	} else if c, ok := h.conns.get(b.Conn); ok {
		c.durable(b.LastSeq())
	}
}

// Lost says that a batch will not be in history. Its connection gets no ack any
// more: the client keeps what is not acknowledged, and sends it again after
// Recovered has made it reconnect.
func (h *Hub) Lost(b *presence.Batch) {
	h.metrics.lost.Inc()
	if w, ok := h.waiters.get(b.Conn); ok {
		w.settle(ErrLost)
	} else if c, ok := h.conns.get(b.Conn); ok {
		c.lose()
	}
}

// Recovered says that history takes batches again. It is called after the last
// Lost of an outage. Connections that lost a batch are closed, spread over
// RecoverWithin so that their clients do not come back together.
func (h *Hub) Recovered() {
	now := h.clock()
	h.conns.each(func(c *Conn) {
		c.sendAwayIfLost(now + time.Duration(rand.Int64N(int64(h.cfg.RecoverWithin)+1)))
	})
}

// panicked reports a panic of one connection. It is called while that is being
// recovered. What was thrown may hold a position, so only its type is said.
func (h *Hub) panicked(during string, v any) {
	h.metrics.panics.Inc()
	h.log.Error("a connection panicked", "during", during, "type", fmt.Sprintf("%T", v), "stack", stack.OfPanic())
}

var errStopped = errors.New("the hub is closed")

// begin counts a goroutine of the hub's, unless the hub is closed.
func (h *Hub) begin() error {
	h.shut.Lock()
	defer h.shut.Unlock()
	if h.stopped {
		return errStopped
	}
	h.work.Add(1)
	return nil
}

// Stop ends every connection at once, without waiting for clients, and returns
// when all goroutines of the hub have ended.
func (h *Hub) Stop() {
	h.shut.Lock()
	h.stopped = true
	h.shut.Unlock()
	h.cancel()
	h.conns.each((*Conn).kill)
	h.work.Wait()
}

// registry is a map by ConnID that many goroutines use at once.
type registry[T any] struct{ shards [64]registryShard[T] }

type registryShard[T any] struct {
	mu sync.RWMutex
	m  map[presence.ConnID]T
}

func (r *registry[T]) shard(id presence.ConnID) *registryShard[T] {
	return &r.shards[id%presence.ConnID(len(r.shards))]
}

func (r *registry[T]) get(id presence.ConnID) (T, bool) {
	s := r.shard(id)
	s.mu.RLock()
	v, ok := s.m[id]
	s.mu.RUnlock()
	return v, ok
}

func (r *registry[T]) put(id presence.ConnID, v T) {
	s := r.shard(id)
	s.mu.Lock()
	if s.m == nil {
		s.m = make(map[presence.ConnID]T)
	}
	s.m[id] = v
	s.mu.Unlock()
}

// take removes id and reports whether it was there.
func (r *registry[T]) take(id presence.ConnID) bool {
	s := r.shard(id)
	s.mu.Lock()
	_, ok := s.m[id]
	delete(s.m, id)
	s.mu.Unlock()
	return ok
}

// each calls f for everything that was there when its shard was looked at. f
// may use the registry.
func (r *registry[T]) each(f func(T)) {
	var all []T
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.RLock()
		all = all[:0]
		for _, v := range s.m {
			all = append(all, v)
		}
		s.mu.RUnlock()
		for _, v := range all {
			f(v)
		}
	}
}
