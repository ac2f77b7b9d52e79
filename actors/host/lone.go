package host

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/kith-nearby/kith/actors"
)

// lone is an actor that is a protoactor actor by itself: a room, a cell. All but
// box belongs to its turn.
type lone struct {
	origin
	h     *Host
	core  actors.Core // nil until the first message
	alarm uint32      // its place among the alarms, plus one; 0 = none yet
	set   uint32      // number of the timer it set last
	done  bool

	box mailbox // any goroutine
}

// outboxes are lent for a turn, so that an idle actor holds none.
var outboxes = sync.Pool{New: func() any { return new(actors.Outbox) }}

// Receive is protoactor's way in.
func (o *lone) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *chunk:
		o.turn(c, m)
	case *actor.Stopped:
		o.gone(true)
	}
}

func (o *lone) turn(c actor.Context, work *chunk) {
	now := o.h.clock.now()
	out := outboxes.Get().(*actors.Outbox)
	handled := 0
	o.done = o.done || o.h.hurry.Load()
	for handled < work.n && !o.done {
		o.deliver(now, work.items[handled], out)
		handled++
	}
	if o.done {
		o.box.hold(work.items[handled:work.n])
		c.Stop(c.Self())
	}
	work.free()
	o.h.metrics.take(&out.Counts)
	if cap(out.Effects) <= keepEffects {
		outboxes.Put(out)
	}
	o.box.settle(handled, 0)
	o.h.idle.signal()
}

func (o *lone) deliver(now time.Time, d delivery, out *actors.Outbox) {
	m := d.msg
	if c, ok := m.(*control); ok {
		switch {
		case c.do != nil:
			c.do()
			return
		case c.alarm != 0 && c.alarm != o.set: // replaced while its Tick was on its way
			return
		case c.incarnation != 0 && c.incarnation != o.incarnation:
			o.h.dropControl(c, staleFor)
			return
		}
		if c.ask != 0 {
			o.h.asks.handed(c.ask)
		}
		m = c.Message
	}
	if o.core == nil {
		if o.core = o.h.make(o.Address, now, m); o.core == nil {
			o.h.drop(noFactory, 1)
			o.done = true
			return
		}
	}
	if ends := o.run(now, m, out); ends {
		o.done = true
	}
	out.Reset()
}

// run is one Step and its effects, and says whether the actor ends with it.
func (o *lone) run(now time.Time, m actors.Message, out *actors.Outbox) (ends bool) {
	ends = true
	defer func() {
		if v := recover(); v != nil {
			o.h.panicked(v, o.core, o.Address, m)
		}
	}()
	o.core.Step(now, m, out)
	return o.apply(out)
}

func (o *lone) apply(out *actors.Outbox) (stop bool) {
	for k := range out.Effects {
		switch e := &out.Effects[k]; e.Kind {
		case actors.Send:
			o.h.send(e.To, delivery{e.To.ID, e.Message}, false)
		case actors.Timer:
			o.arm(e.At)
		case actors.Stop:
			return true
		default:
			o.h.apply(o.origin, e)
		}
	}
	return false
}

func (o *lone) arm(at time.Time) {
	if o.alarm == 0 {
		o.alarm = o.h.alarms.add(o) + 1
	}
	if o.set++; o.set == 0 {
		o.set = 1
	}
	due := o.h.clock.due(at, o.h.clock.now())
	o.h.alarms.set(o.alarm-1, o.set, due)
	o.h.pulse.set(due)
}

// gone ends the actor once protoactor has let go of its name. What came for it
// meanwhile goes to a new life if it asks for one (revive), else it is dropped.
func (o *lone) gone(revive bool) {
	if o.alarm != 0 {
		o.h.alarms.remove(o.alarm - 1)
	}
	o.core = nil
	o.h.asks.stopped(o.Address)
	next, dropped, left := o.h.lones.replace(o, revive)
	why := noActor
	if o.h.closing.Load() {
		why = afterStop
	}
	o.h.dropAll(dropped, why)
	o.box.settle(left, 0)
	if next != nil {
		o.h.spawnLone(next)
	}
	o.h.lones.running.Done()
	o.h.idle.signal()
}

// lones are the actors outside the shards, by address.
type lones struct {
	h       *Host
	stripes [lonesStripes]loneStripe
	tally   tally
	running sync.WaitGroup
}

const lonesStripes = 16

type loneStripe struct {
	mu   sync.RWMutex
	all  map[actors.Address]*lone
	last uint32 // incarnation
}

func (l *lones) stripe(a actors.Address) *loneStripe {
	return &l.stripes[mix(a.ID^uint64(a.Kind)<<56)%lonesStripes]
}

func (l *lones) find(a actors.Address) *lone {
	s := l.stripe(a)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[a]
}

// findOrAdd returns the actor, made if there is none; nil once the host closes.
// A new one can be posted to at once, and runs after spawnLone.
func (l *lones) findOrAdd(a actors.Address) (o *lone, added bool) {
	s := l.stripe(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.all[a]; o != nil {
		return o, false
	}
	o = l.addLocked(s, a)
	return o, o != nil
}

func (l *lones) addLocked(s *loneStripe, a actors.Address) *lone {
	if l.h.closing.Load() {
		return nil
	}
	if s.last++; s.last == 0 {
		s.last = 1
	}
	o := &lone{h: l.h, origin: origin{a, s.last}}
	o.box.tally, o.box.lean = &l.tally, true
	o.box.limit, o.box.low = l.h.cfg.Mailbox, l.h.cfg.Mailbox/4
	if s.all == nil {
		s.all = map[actors.Address]*lone{}
	}
	s.all[a] = o
	l.running.Add(1)
	l.h.counts[a.Kind].Add(1)
	return o
}

// replace takes o out. From the first starting message on, what is left in its
// mailbox passes to a new actor, in order, before anybody else can reach that.
func (l *lones) replace(o *lone, revive bool) (next *lone, dropped []delivery, left int) {
	s := l.stripe(o.Address)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, o.Address)
	l.h.counts[o.Kind].Add(-1)
	all := o.box.finish()
	for i, d := range all {
		if c, ok := d.msg.(*control); !ok || !c.start || !revive {
			continue
		}
		if next = l.addLocked(s, o.Address); next == nil {
			break
		}
		for _, d := range all[i:] {
			next.box.post(d, true)
		}
		return next, all[:i], len(all)
	}
	return nil, all, len(all)
}

func (l *lones) list() (all []*lone) {
	for i := range l.stripes {
		s := &l.stripes[i]
		s.mu.RLock()
		for _, o := range s.all {
			all = append(all, o)
		}
		s.mu.RUnlock()
	}
	return all
}

// quit asks all to end when they have done what is queued.
func (l *lones) quit() {
	for _, o := range l.list() {
		o.box.post(delivery{msg: &control{do: func() { o.done = true }}}, true)
	}
}
