package host

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// never is a tick that does not come.
const never = math.MaxUint64

// pulse is the node's alarm clock: one goroutine that sleeps until the earliest
// timer of any wheel and then wakes its owner. Each shard has a wheel of its
// own, without locks, since a timer is set for every fix; the actors outside the
// shards share one (alarms).
type pulse struct {
	h     *Host
	until atomic.Uint64 // tick up to which it sleeps; 0 = awake
	wake  chan struct{} // room for one
	stop  chan struct{}
	ended chan struct{}
}

func newPulse(h *Host) *pulse {
	return &pulse{h: h, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
}

func (p *pulse) run() {
	defer close(p.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		until := p.beat()
		p.until.Store(until)
		// Whoever set an earlier timer meanwhile saw us awake and did not wake us.
		if p.next() < until {
			p.until.Store(0)
			continue
		}
		var due <-chan time.Time
		if until != never {
			timer.Reset(p.h.clock.at(until).Sub(p.h.clock.now()))
			due = timer.C
		}
		select {
		case <-due:
		case <-p.wake:
		case <-p.stop:
			return
		}
		p.until.Store(0)
	}
}

// beat wakes whoever has a timer due, and returns when the next one is.
func (p *pulse) beat() (until uint64) {
	now := p.h.clock.passed(p.h.clock.now())
	until = never
	for _, s := range p.h.shards {
		if due := s.due.Load(); due <= now {
			s.kick()
		} else if !s.kicked.Load() {
			until = min(until, due)
		}
	}
	return min(until, p.h.alarms.ring(now))
}

// next is the earliest timer of those that were not woken already.
func (p *pulse) next() uint64 {
	next := p.h.alarms.next()
	for _, s := range p.h.shards {
		if !s.kicked.Load() {
			next = min(next, s.due.Load())
		}
	}
	return next
}

// set tells of a timer due at tick at.
func (p *pulse) set(at uint64) {
	if at < p.until.Load() {
		p.rouse()
	}
}

// rouse makes the pulse look at the clock.
func (p *pulse) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pulse) close() {
	close(p.stop)
	<-p.ended
}

// alarms are the timers of the actors outside the shards.
type alarms struct {
	mu    sync.Mutex
	wheel Wheel
	owner []alarm
	free  []uint32
}

// alarm is the timer that an actor set last.
type alarm struct {
	of     *lone
	number uint32 // tells it from those it set before
}

// add gives o a place.
func (a *alarms) add(o *lone) (place uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.free); n > 0 {
		place, a.free = a.free[n-1], a.free[:n-1]
	} else {
		place = uint32(len(a.owner))
		a.owner = append(a.owner, alarm{})
	}
	a.owner[place] = alarm{of: o}
	return place
}

func (a *alarms) remove(place uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wheel.Cancel(place)
	a.owner[place] = alarm{}
	a.free = append(a.free, place)
}

func (a *alarms) set(place, number uint32, at uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wheel.Arm(place, at)
	a.owner[place].number = number
}

// ring posts a Tick to each actor whose timer is due at tick now, and returns
// when the next one is.
func (a *alarms) ring(now uint64) (until uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		place, ok := a.wheel.Expire(now)
		if !ok {
			return a.nextLocked()
		}
		w := a.owner[place]
		w.of.box.post(delivery{msg: &control{Message: tick, alarm: w.number}}, true)
	}
}

func (a *alarms) next() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nextLocked()
}

func (a *alarms) nextLocked() uint64 {
	if tick, ok := a.wheel.Next(); ok {
		return tick
	}
	return never
}

func (a *alarms) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wheel.Len()
}
