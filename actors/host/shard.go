package host

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/kith-nearby/kith/actors"
)

// shard is one protoactor actor that runs many users' Cores, as a scheduler of
// the BEAM runs many processes. All but the fields that say otherwise belong to
// its turn.
type shard struct {
	h         *Host
	number    int
	directory directory
	wheel     Wheel
	sweep     sweep
	local     backlog  // what its Cores send to each other
	reported  int      // length of local that box knows
	away      []*chunk // what they send to others, by shard; nil = nothing
	out       actors.Outbox
	now       time.Time
	tick      uint64
	warmed    uint64 // see Warmer
	cold      bool   // no reading ahead any more

	box    mailbox       // any goroutine
	users  atomic.Int64  // any goroutine may read
	timers atomic.Int64  // any goroutine may read
	due    atomic.Uint64 // tick of its next timer; the pulse reads it
	kicked atomic.Bool   // a kick is on its way; the pulse and the turn set it
	ended  chan struct{}
}

const (
	// localPerDelivery bounds what local messages a delivery from outside waits
	// for; localPerTurn, what is run before others get what this turn sent them.
	localPerDelivery = 64
	localPerTurn     = 4096
	timersPerTurn    = 1024
	// keepEffects is how long an Outbox may stay between Steps: 0.7 MB.
	keepEffects = 4096
)

func newShard(h *Host, number, shards int) *shard {
	s := &shard{h: h, number: number, away: make([]*chunk, shards), ended: make(chan struct{})}
	s.box.tally = new(tally)
	s.box.low = h.cfg.HighWater / 2
	s.due.Store(never)
	return s
}

// Receive is protoactor's way in.
func (s *shard) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *chunk:
		s.turn(m)
	case *actor.Stopped:
		s.end()
	}
}

// turn works through c, and through what its Cores send each other meanwhile.
func (s *shard) turn(c *chunk) {
	s.now = s.h.clock.now()
	s.tick = s.h.clock.passed(s.now)
	handled := s.wakeDue()
	for i := range c.n {
		if i%warmAhead == 0 {
			s.warm(c.items[i:c.n])
		}
		s.deliver(c.items[i])
		handled += 1 + s.drain(localPerDelivery)
	}
	handled += s.drain(localPerTurn)
	done := c.n
	c.free()
	s.flushAll()
	s.h.metrics.take(&s.out.Counts)
	s.h.metrics.turns.Observe(float64(handled))
	s.publish()
	more := s.local.len() - s.reported
	s.reported += more
	s.box.settle(done, more)
	s.h.idle.signal()
}

// publish tells the pulse when the next timer is due, and comes back at once if
// there is more to do now.
func (s *shard) publish() {
	due := uint64(never)
	if tick, ok := s.wheel.Next(); ok {
		due = tick
	}
	if tick, ok := s.sweep.next(); ok {
		due = min(due, tick)
	}
	s.timers.Store(int64(s.wheel.Len()))
	s.due.Store(due)
	s.kicked.Store(false)
	if s.local.len() > 0 || due <= s.tick {
		s.kick()
	} else {
		s.h.pulse.set(due)
	}
}

// kick makes the shard take a turn. Any goroutine may.
func (s *shard) kick() {
	if s.kicked.CompareAndSwap(false, true) {
		s.box.post(delivery{}, true)
	}
}

// wakeDue runs the timers that are due, and the sweep.
func (s *shard) wakeDue() (handled int) {
	for handled < timersPerTurn {
		i, ok := s.wheel.Expire(s.tick)
		if !ok {
			break
		}
		s.step(i, s.directory.at(i), tick)
		handled += 1 + s.drain(localPerDelivery)
	}
	for n := s.sweep.due(s.tick); n > 0 && handled < timersPerTurn; n-- {
		i := s.sweep.step()
		handled++
		if r := s.directory.at(i); r.core != nil {
			s.step(i, r, resync)
			handled += s.drain(localPerDelivery)
		}
	}
	return handled
}

func (s *shard) drain(most int) (handled int) {
	for ; handled < most && s.local.len() > 0; handled++ {
		if handled%warmAhead == 0 {
			s.warm(s.local.items[s.local.head:])
		}
		s.deliver(s.local.pop())
	}
	return handled
}

func (s *shard) deliver(d delivery) {
	if c, ok := d.msg.(*control); ok {
		s.control(d.id, c)
		return
	}
	if d.msg == nil {
		return
	}
	i, r := s.directory.find(d.id)
	if r == nil {
		s.h.drop(noActor, 1)
		return
	}
	s.step(i, r, d.msg)
}

func (s *shard) control(id uint64, c *control) {
	if c.do != nil {
		c.do()
		return
	}
	i, r := s.directory.find(id)
	if r == nil && c.start {
		if i, r = s.start(id, c.Message); r == nil {
			s.h.dropControl(c, noFactory)
			return
		}
	}
	switch {
	case r == nil:
		s.h.dropControl(c, noActor)
		return
	case c.incarnation != 0 && c.incarnation != r.incarnation:
		s.h.dropControl(c, staleFor)
		return
	}
	if c.ask != 0 {
		s.h.asks.handed(c.ask)
	}
	s.step(i, r, c.Message)
}

func (s *shard) start(id uint64, first actors.Message) (i uint32, r *record) {
	if s.directory.full() {
		return 0, nil
	}
	core := s.h.make(actors.Address{Kind: actors.UserKind, ID: id}, s.now, first)
	if core == nil {
		return 0, nil
	}
	s.users.Add(1)
	return s.directory.add(id, core)
}

func (s *shard) step(i uint32, r *record, m actors.Message) {
	if ends := s.run(i, r, m); ends {
		s.remove(i)
	}
	s.out.Reset()
	if cap(s.out.Effects) > keepEffects {
		s.out.Effects = nil
	}
}

// run is one Step and its effects, and says whether the actor ends with it.
func (s *shard) run(i uint32, r *record, m actors.Message) (ends bool) {
	ends = true
	defer func() {
		if v := recover(); v != nil {
			s.h.panicked(v, r.core, r.address(), m)
		}
	}()
	r.core.Step(s.now, m, &s.out)
	return s.apply(i, r)
}

func (s *shard) apply(i uint32, r *record) (stop bool) {
	for k := range s.out.Effects {
		switch e := &s.out.Effects[k]; e.Kind {
		case actors.Send:
			s.send(e.To, e.Message)
		case actors.Timer:
			s.wheel.Arm(i, s.h.clock.due(e.At, s.now))
		case actors.Stop:
			return true
		default:
			s.h.apply(origin{r.address(), r.incarnation}, e)
		}
	}
	return false
}

func (s *shard) send(to actors.Address, m actors.Message) {
	if to.Kind != actors.UserKind {
		s.h.sendLone(to, delivery{to.ID, m}, false)
		return
	}
	n := s.h.shardOf(to.ID)
	if n == s.number {
		s.local.push(delivery{to.ID, m})
		return
	}
	c := s.away[n]
	if c == nil {
		c = newChunk(largest)
		s.away[n] = c
	}
	if c.add(delivery{to.ID, m}); c.full() {
		s.flush(n)
	}
}

// flush hands what is meant for shard n over to it.
func (s *shard) flush(n int) {
	c := s.away[n]
	if c == nil || c.n == 0 {
		return
	}
	c, taken := s.h.shards[n].box.postChunk(c)
	if !taken {
		s.h.drop(afterStop, c.n)
		c.free()
		c = nil
	}
	s.away[n] = c
}

// flushAll ends the turn for the others, and keeps no chunk.
func (s *shard) flushAll() {
	for n := range s.away {
		s.flush(n)
		if c := s.away[n]; c != nil {
			c.free()
			s.away[n] = nil
		}
	}
}

func (s *shard) remove(i uint32) {
	s.wheel.Cancel(i)
	who := s.directory.at(i).address()
	s.directory.remove(i)
	s.users.Add(-1)
	s.h.asks.stopped(who)
}

// end is the last thing that a shard does: all its actors are gone.
func (s *shard) end() {
	left := s.box.finish()
	s.h.dropAll(left, afterStop)
	s.h.drop(afterStop, s.local.len())
	s.box.settle(len(left), -s.reported)
	s.directory, s.wheel, s.local, s.sweep = directory{}, Wheel{}, backlog{}, sweep{}
	s.users.Store(0)
	s.timers.Store(0)
	close(s.ended)
}
