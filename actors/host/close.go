package host

import (
	"context"
	"sync"
	"sync/atomic"
)

// Close takes no more from outside, lets what is queued be finished, and ends
// all actors, workers and timers. With ctx over it stops waiting and drops the
// rest; the error then is that of ctx. Actors get no farewell. A second Close
// waits for the first.
func (h *Host) Close(ctx context.Context) error {
	h.closeOnce.Do(func() {
		h.closing.Store(true)
		go func() {
			h.closeErr = h.shutDown(ctx)
			close(h.closed)
		}()
	})
	<-h.closed
	return h.closeErr
}

func (h *Host) shutDown(ctx context.Context) error {
	err := h.Quiesce(ctx)
	h.pulse.close()
	h.hurry.Store(err != nil)
	h.lones.quit()
	first(&err, waitFor(ctx, &h.lones.running))
	for _, pid := range h.shardPIDs {
		h.system.Root.Stop(pid)
	}
	for _, s := range h.shards {
		first(&err, waitClosed(ctx, s.ended))
	}
	first(&err, h.loads.close(ctx))
	h.asks.close()
	close(h.down)
	if h.registry != nil {
		h.metrics.unregister(h.registry)
	}
	h.system.Shutdown()
	return err
}

func first(err *error, next error) {
	if *err == nil {
		*err = next
	}
}

// Quiesce waits for a moment in which no message is queued or being handled and
// no actor waits for the store. Timers that are not due do not count, nor does
// what has not yet been sent. With nothing sent from outside meanwhile, it is
// exact.
func (h *Host) Quiesce(ctx context.Context) error {
	h.idle.waiters.Add(1)
	defer h.idle.waiters.Add(-1)
	for {
		changed := h.idle.next()
		if h.quiet() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// quiet reads all that is done before all that is posted, see tally.
func (h *Host) quiet() bool {
	var done, posted int64
	tallies := []*tally{&h.lones.tally, &h.loads.tally}
	for _, s := range h.shards {
		tallies = append(tallies, s.box.tally)
	}
	for _, t := range tallies {
		done += t.done.Load()
	}
	for _, t := range tallies {
		posted += t.posted.Load()
	}
	return done == posted
}

// idle tells those who wait for quiet that some work was done.
type idle struct {
	waiters atomic.Int32
	mu      sync.Mutex
	changed chan struct{}
}

func (i *idle) next() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changed == nil {
		i.changed = make(chan struct{})
	}
	return i.changed
}

func (i *idle) signal() {
	if i.waiters.Load() == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changed != nil {
		close(i.changed)
		i.changed = nil
	}
}
