package gateway

import (
	"context"

	"github.com/kith-nearby/kith/presence"
)

// ErrLost says that a batch will not become durable. It is an ErrUnavailable.
var ErrLost = &lostError{}

type lostError struct{}

func (*lostError) Error() string        { return "the database does not take fixes at the moment" }
func (*lostError) Is(target error) bool { return target == ErrUnavailable }

// Waiter stands in for a connection where somebody waits for one batch: give its
// ID to the batch, report the batch, Wait, and Close.
type Waiter struct {
	hub  *Hub
	id   presence.ConnID
	done chan error
}

// Await returns a new waiter. The caller must Close it.
func (h *Hub) Await() *Waiter {
	w := &Waiter{hub: h, id: presence.FirstWaiter + presence.ConnID(h.waiterIDs.Add(1)), done: make(chan error, 1)}
	h.waiters.put(w.id, w)
	h.metrics.waiters.Inc()
	return w
}

// ID goes into Batch.Conn.
func (w *Waiter) ID() presence.ConnID { return w.id }

// Wait returns nil once the batch is durable, ErrLost if it never will be, or
// the error of ctx, after which the batch may still become durable.
func (w *Waiter) Wait(ctx context.Context) error {
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the wait. It may be called more than once.
func (w *Waiter) Close() {
	if w.hub.waiters.take(w.id) {
		w.hub.metrics.waiters.Dec()
	}
}

// settle tells the waiter how its batch ended; only the first time counts.
func (w *Waiter) settle(err error) {
	select {
	case w.done <- err:
	default:
	}
}
