package gateway

import (
	"fmt"
	"slices"
	"time"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

func (c *Conn) takeFix(f *wire.Frame) {
	now := c.now()
	fix, bad := wire.Checker{Now: millis(now), SeqRequired: true}.Fix(&f.Fix)
	if bad != nil {
		c.sockets.hub.metrics.refusedFixes[bad.Code].Inc()
		c.fail(f, bad)
		return
	}
	c.report(now, []presence.Fix{fix})
}

func (c *Conn) takeFixes(f *wire.Frame) {
	hub := c.sockets.hub
	now := c.now()
	if !c.backlog.take(hub.clock(), hub.cfg.BacklogPerS, float64(hub.cfg.BacklogBurst), float64(len(f.Fixes))) {
		c.refuseAll(f, tooOften(f))
		return
	}
	check := wire.Checker{Now: millis(now), SeqRequired: true}
	fixes := make([]presence.Fix, 0, len(f.Fixes))
	for i := range f.Fixes {
		item := &f.Fixes[i]
		fix, bad := presence.Fix{}, item.Err
		if bad == nil {
			fix, bad = check.Fix(&item.Raw)
		}
		if bad != nil {
			hub.metrics.refusedFixes[bad.Code].Inc()
			if !bad.HasSeq {
				bad.Message = fmt.Sprintf("fixes[%d]: %s", i, bad.Message)
			}
			c.fail(f, bad)
			continue
		}
		fixes = append(fixes, fix)
	}
	if len(fixes) == 0 {
		return
	}
	slices.SortStableFunc(fixes, func(a, b presence.Fix) int {
		switch {
		case a.Seq < b.Seq:
			return -1
		case a.Seq > b.Seq:
			return 1
		}
		return 0
	})
	c.report(now, fixes)
}

// refuseAll refuses every fix of a report for the same reason.
func (c *Conn) refuseAll(f *wire.Frame, why *wire.Error) {
	for i := range f.Fixes {
		e := *why
		e.Seq, e.HasSeq = f.Fixes[i].Raw.Seq, f.Fixes[i].Raw.Has&wire.FixSeq != 0
		c.sockets.hub.metrics.refusedFixes[e.Code].Inc()
		c.refuse(&e)
	}
}

// report hands over fixes, in rising seq. The call waits while the node is
// over its high-water mark.
func (c *Conn) report(now time.Time, fixes []presence.Fix) {
	c.mu.Lock()
	c.acks.report(fixes[0].Seq, fixes[len(fixes)-1].Seq)
	counted := !c.acks.lost
	c.mu.Unlock()
	if counted {
		c.sockets.hub.metrics.waitingAcks.Inc()
	}
	c.sockets.ports.Live.Report(&presence.Batch{
		User: c.user, Device: c.device, Fixes: fixes, Conn: c.id, Received: micros(now),
	})
}

func (c *Conn) takeStill(f *wire.Frame) {
	c.sockets.ports.Live.Rest(c.user, c.id, c.device)
	if f.Fix.Has&wire.FixSeq == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq, ok := c.acks.still(f.Fix.Seq); ok {
		c.acknowledge(seq)
	}
}

// durable says that the oldest batch that waits is in history.
func (c *Conn) durable(last uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == dead {
		return
	}
	if !c.acks.lost {
		c.sockets.hub.metrics.waitingAcks.Dec()
	}
	if seq, ok := c.acks.settle(last); ok {
		c.acknowledge(seq)
	}
}

// lose says that a batch will not be in history.
func (c *Conn) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == dead {
		return
	}
	c.sockets.hub.metrics.waitingAcks.Sub(float64(c.acks.waiting()))
	c.acks.lost = true
}

// sendAwayIfLost closes a connection that lost a batch, at the given clock.
func (c *Conn) sendAwayIfLost(at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acks.lost && c.phase == open {
		c.leaveAt = max(at, 1)
		c.sockets.hub.pulse.arm(c, c.next())
	}
}
