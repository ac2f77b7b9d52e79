package gateway

import (
	"sync"
	"time"

	"github.com/kith-nearby/kith/presence"
)

// pulse is the node's one timing wheel for connections: pings, deadlines and
// ends of tokens. One goroutine serves all of them.
type pulse struct {
	every time.Duration
	mu    sync.Mutex
	wheel wheel
}

const wheelSlots = 512

func newPulse(every time.Duration) *pulse {
	return &pulse{every: every, wheel: newWheel(wheelSlots)}
}

// arm wakes c at or after the time at, instead of when it was to be woken.
// Times are those of Hub.clock.
func (p *pulse) arm(c *Conn, at time.Duration) {
	tick := int64((at + p.every - 1) / p.every)
	p.mu.Lock()
	p.wheel.set(&c.spoke, tick)
	p.mu.Unlock()
}

func (p *pulse) disarm(c *Conn) {
	p.mu.Lock()
	p.wheel.clear(&c.spoke)
	p.mu.Unlock()
}

// run wakes connections until stop is closed.
func (p *pulse) run(clock func() time.Duration, stop <-chan struct{}) {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	var due []*Conn
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		now := clock()
		p.mu.Lock()
		due = p.wheel.advance(int64(now/p.every), due[:0])
		p.mu.Unlock()
		for i, c := range due {
			due[i] = nil
			c.wakeUp(now)
		}
		if cap(due) > 4096 {
			due = nil
		}
	}
}

// wakeUp is onPulse for a goroutine that serves others too: a panic ends only this
// connection.
func (c *Conn) wakeUp(now time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			c.sockets.hub.panicked("pulse", v)
			if c.alive() {
				c.close(presence.Internal, "")
			} else { // it was closed already, and that went wrong
				_ = c.net.Close()
			}
		}
	}()
	c.onPulse(now)
}
