package gateway

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// Drain sends every client away: each is told when to come back, at random over
// window, and closed as draining; the closes are paced over window too. New
// connections are refused from now on. It returns when all have ended; those
// that have not when ctx ends, or when Drain is called once more, are cut off.
func (h *Hub) Drain(ctx context.Context, window time.Duration, reason string) {
	if !h.startDrain() {
		return
	}
	var all []*Conn
	h.conns.each(func(c *Conn) { all = append(all, c) })
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	began := h.clock()
	for i, c := range all {
		at := began + time.Duration(float64(window)*float64(i)/float64(len(all)))
		if !h.waitUntil(ctx, at) {
			break
		}
		retry := time.Duration(rand.Int64N(int64(max(window, 0)) + 1))
		c.drain(retry, reason)
	}
	h.waitEmpty(ctx, reason)
	h.conns.each((*Conn).kill)
}

// startDrain makes the first call the one that drains; later ones hurry it.
func (h *Hub) startDrain() bool {
	h.shut.Lock()
	defer h.shut.Unlock()
	if h.draining.Load() {
		select {
		case <-h.hurry:
		default:
			close(h.hurry)
		}
		return false
	}
	h.draining.Store(true)
	return true
}

// waitUntil waits for a time of the clock; false if the drain has to end first.
func (h *Hub) waitUntil(ctx context.Context, at time.Duration) bool {
	wait := at - h.clock()
	if wait <= 0 {
		return ctx.Err() == nil && !h.hurried()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-h.hurry:
	case <-h.ctx.Done():
	}
	return false
}

func (h *Hub) hurried() bool {
	select {
	case <-h.hurry:
		return true
	default:
		return false
	}
}

// waitEmpty waits until there is no connection. A client that connected just
// before the drain began is sent away as well.
func (h *Hub) waitEmpty(ctx context.Context, reason string) {
	for h.open.Load() > 0 {
		if !h.waitUntil(ctx, h.clock()+h.pulse.every) {
			return
		}
		h.conns.each(func(c *Conn) {
			if c.alive() {
				c.drain(0, reason)
			}
		})
	}
}

// drain tells the client when to come back, and closes.
func (c *Conn) drain(retry time.Duration, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.post(func(b []byte) []byte { return wire.AppendDrain(b, retry.Milliseconds(), reason) })
	c.closeLocked(presence.Draining, "")
}
