package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/actors"
)

// Host runs the actors of one node.
type Host struct {
	cfg       Config
	ports     Ports
	factories map[actors.Kind]Factory
	log       *slog.Logger
	clock     clock
	system    *actor.ActorSystem
	nursery   *nursery
	metrics   *metrics
	registry  prometheus.Registerer // nil = none

	shards    []*shard
	shardPIDs []*actor.PID
	lones     *lones
	loads     *loads
	asks      *asks
	pulse     *pulse
	alarms    alarms
	faults    faults
	idle      idle
	counts    [256]atomic.Int64 // actors outside the shards, by kind

	closing   atomic.Bool   // nothing more from outside
	hurry     atomic.Bool   // what is queued is dropped
	down      chan struct{} // closed: nobody waits any more
	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error
}

// New starts a host. factories says how each kind of actor is made; what has no
// factory cannot be started. reg and log may be nil. It fails on a faulty cfg, on
// a missing port and on metrics that reg has already.
func New(cfg Config, ports Ports, factories map[actors.Kind]Factory, reg prometheus.Registerer, log *slog.Logger) (*Host, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	if ports.Clients == nil || ports.Recorder == nil || ports.Loader == nil {
		return nil, errors.New("host: clients, recorder and loader must be there")
	}
	if cfg.Shards == 0 {
		cfg.Shards = runtime.GOMAXPROCS(0)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &Host{
		cfg: cfg, ports: ports, factories: maps.Clone(factories), log: log, registry: reg,
		clock:   clock{now: cfg.Now, start: cfg.Now(), grain: cfg.Tick},
		metrics: newMetrics(),
		asks:    newAsks(cfg.Asks),
		faults:  faults{log: log, now: cfg.Now, seen: map[string]*faultLine{}},
		down:    make(chan struct{}),
		closed:  make(chan struct{}),
	}
	h.lones = &lones{h: h}
	h.loads = newLoads(h, cfg.LoadQueue)
	h.pulse = newPulse(h)
	for n := range cfg.Shards {
		h.shards = append(h.shards, newShard(h, n, cfg.Shards))
	}
	h.metrics.watch(h)
	if reg != nil {
		if err := h.metrics.register(reg); err != nil {
			return nil, fmt.Errorf("host: metrics: %w", err)
		}
	}
	h.system = newSystem(log)
	h.nursery = newNursery(h.system.Root)
	for n, s := range h.shards {
		pid, err := h.nursery.start(fmt.Sprintf("shard:%d", n), s, &s.box)
		if err != nil {
			return nil, fmt.Errorf("host: shard %d: %w", n, err)
		}
		h.shardPIDs = append(h.shardPIDs, pid)
	}
	h.loads.start(cfg.LoadWorkers)
	go h.pulse.run()
	return h, nil
}

// Send delivers m to an actor. If there is none, m is dropped and counted. It
// never blocks, and may be called from anywhere at any time.
func (h *Host) Send(to actors.Address, m actors.Message) {
	if h.closing.Load() {
		h.drop(afterStop, 1)
		return
	}
	h.send(to, delivery{to.ID, m}, false)
}

// Start delivers m to an actor, which is started if there is none. Otherwise it
// is as Send.
func (h *Host) Start(to actors.Address, m actors.Message) {
	if h.closing.Load() {
		h.drop(afterStop, 1)
		return
	}
	h.send(to, delivery{to.ID, &control{Message: m, start: true}}, true)
}

// Admit returns at once unless too much waits at the actor's mailbox; then it
// waits until half of that is done. It is how edges (sockets, links, HTTP) read
// more slowly; actors never call it. ErrBusy after Config.AdmitWait, ErrClosed,
// or the error of ctx: the caller may go on or give up.
func (h *Host) Admit(ctx context.Context, to actors.Address) error {
	box, high := h.box(to)
	if box == nil || box.depth.Load() <= int64(high) {
		return nil
	}
	low := box.wait(high)
	if low == nil {
		return nil
	}
	h.metrics.waits.Inc()
	timer := time.NewTimer(h.cfg.AdmitWait)
	defer timer.Stop()
	select {
	case <-low:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.down:
		return ErrClosed
	case <-timer.C:
		h.metrics.waitsEnded.Inc()
		return ErrBusy
	}
}

func (h *Host) box(to actors.Address) (box *mailbox, high int) {
	if to.Kind == actors.UserKind {
		return &h.shards[h.shardOf(to.ID)].box, h.cfg.HighWater
	}
	if o := h.lones.find(to); o != nil {
		return &o.box, h.cfg.Mailbox / 2
	}
	return nil, 0
}

// Ask sends the message that question makes, and returns what the actor replies.
// ErrNoActor if there is none, ErrStopped if it ends without having answered,
// ErrBusy if too many questions are open, ErrClosed, or the error of ctx.
func (h *Host) Ask(ctx context.Context, to actors.Address, question func(actors.Ask) actors.Message) (any, error) {
	if h.closing.Load() {
		return nil, ErrClosed
	}
	ask, answer, err := h.asks.ask(to)
	if err != nil {
		return nil, err
	}
	h.send(to, delivery{to.ID, &control{Message: question(ask), ask: ask}}, false)
	select {
	case r := <-answer:
		return r.answer, r.err
	case <-ctx.Done():
		h.asks.settle(ask, reply{})
		return nil, ctx.Err()
	}
}

// Resync sends every user a Resync, spread evenly over pace. A second one before
// the end of the first takes its place and begins anew.
func (h *Host) Resync(pace time.Duration) {
	for _, s := range h.shards {
		s.box.post(delivery{msg: &control{do: func() {
			s.sweep.begin(s.directory.used, s.tick, uint64(max(0, pace)/h.cfg.Tick))
		}}}, true)
	}
}

// Users is the number of users who have an actor here.
func (h *Host) Users() int { return h.Count(actors.UserKind) }

// Count is the number of actors of a kind.
func (h *Host) Count(kind actors.Kind) int {
	if kind != actors.UserKind {
		return int(h.counts[kind].Load())
	}
	var n int64
	for _, s := range h.shards {
		n += s.users.Load()
	}
	return int(n)
}

// Wake makes the host look at Config.Now again, for a clock that was moved.
func (h *Host) Wake() { h.pulse.rouse() }

func (h *Host) timers() int {
	n := h.alarms.len()
	for _, s := range h.shards {
		n += int(s.timers.Load())
	}
	return n
}

// shardOf is the shard of a user for life.
func (h *Host) shardOf(id uint64) int {
	n, _ := bits.Mul64(mix(id), uint64(len(h.shards)))
	return int(n)
}

// mix spreads ids that follow one another over all 64 bits (the finaliser of
// splitmix64, Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// send posts d to the actor's mailbox. start: make the actor if there is none.
func (h *Host) send(to actors.Address, d delivery, start bool) {
	if to.Kind != actors.UserKind {
		h.sendLone(to, d, start)
		return
	}
	if h.shards[h.shardOf(to.ID)].box.post(d, true) == closed {
		h.dropDelivery(d, afterStop)
	}
}

func (h *Host) sendLone(to actors.Address, d delivery, start bool) {
	if h.factories[to.Kind] == nil {
		h.dropDelivery(d, noActor)
		return
	}
	for {
		o, added := h.lones.find(to), false
		if o == nil && start {
			if o, added = h.lones.findOrAdd(to); o == nil {
				h.dropDelivery(d, afterStop)
				return
			}
		}
		if o == nil {
			h.dropDelivery(d, noActor)
			return
		}
		got := o.box.post(d, false)
		if added {
			h.spawnLone(o)
		}
		switch got {
		case accepted:
			return
		case refused:
			h.dropDelivery(d, boxFull)
			return
		case closed: // it has just gone; its place is free, or taken by the next
		}
	}
}

// answer posts what an actor asked for to the same life of it.
func (h *Host) answer(to origin, m actors.Message) {
	c := &control{Message: m, incarnation: to.incarnation}
	if to.Kind == actors.UserKind {
		h.send(to.Address, delivery{to.ID, c}, false)
		return
	}
	o := h.lones.find(to.Address)
	if o == nil || o.box.post(delivery{to.ID, c}, true) == closed {
		h.drop(staleFor, 1)
	}
}

// apply does what a Core wants done, but for what its owner does itself: Send,
// Timer, Stop.
func (h *Host) apply(from origin, e *actors.Effect) {
	switch e.Kind {
	case actors.Welcome:
		h.ports.Clients.Welcome(e.Conn, e.Welcome)
	case actors.Push:
		h.ports.Clients.Push(e.Conn, e.Change)
	case actors.Notify:
		h.ports.Clients.Notify(e.Conn, e.Notice)
	case actors.Close:
		h.ports.Clients.Close(e.Conn, e.Code)
	case actors.Record:
		h.ports.Recorder.Record(e.Batch)
	case actors.LoadFriends, actors.LoadFriend:
		h.loads.submit(job{from: from, kind: e.Kind, friend: e.User})
	case actors.Locate:
		h.locate(from, e.Users)
	case actors.Reply:
		h.asks.settle(e.Ask, reply{answer: e.Answer})
	}
}

// make returns a new Core, or nil if there is no way to make one.
func (h *Host) make(who actors.Address, now time.Time, first actors.Message) (core actors.Core) {
	factory := h.factories[who.Kind]
	if factory == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			h.panicked(v, nil, who, first)
		}
	}()
	return factory(who.ID, now)
}

func (h *Host) drop(why dropReason, n int) {
	if n > 0 {
		h.metrics.dropped[why].Add(float64(n))
	}
}

// dropControl counts a message that reached nobody, and tells whoever asked it.
// A Tick of an actor that has ended is no loss.
func (h *Host) dropControl(c *control, why dropReason) {
	if c.Message == nil || c.alarm != 0 {
		return
	}
	if c.incarnation != 0 && why == noActor {
		why = staleFor
	}
	h.drop(why, 1)
	if c.ask == 0 {
		return
	}
	err := ErrNoActor
	switch why {
	case boxFull:
		err = ErrBusy
	case afterStop:
		err = ErrClosed
	}
	h.asks.settle(c.ask, reply{err: err})
}

func (h *Host) dropDelivery(d delivery, why dropReason) {
	if c, ok := d.msg.(*control); ok {
		h.dropControl(c, why)
	} else if d.msg != nil {
		h.drop(why, 1)
	}
}

func (h *Host) dropAll(all []delivery, why dropReason) {
	for _, d := range all {
		h.dropDelivery(d, why)
	}
}
