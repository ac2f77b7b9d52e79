// Package actorstest runs many Cores in one test, from one seed: a World. It
// delivers what they send with delay, out of order, twice or not at all, and
// tells both ends of a loss as a link does. Time is virtual. Everything that
// happens follows from the seed, so a failing seed can be run again.
package actorstest

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// pace spreads resyncs, as a node does, so that they do not feed on each other.
const pace = 2 * time.Second

// Faults says what happens to messages between actors.
type Faults struct {
	Delay     time.Duration // each takes up to this long
	Reorder   bool          // a later message may overtake an earlier one
	Duplicate float64       // share of messages that arrive twice
	Drop      float64       // share that is lost; both ends get a Resync afterwards
}

// Loader answers what Cores ask the store.
type Loader interface {
	LoadFriends(id presence.UserID) *actors.FriendsLoaded
	LoadFriend(id, friend presence.UserID) *actors.FriendLoaded
}

// World runs Cores. Its fields are set before the first Start.
type World struct {
	Rand    *rand.Rand
	Faults  Faults
	Loader  Loader
	Factory func(to actors.Address, now time.Time) actors.Core
	// Watch sees every effect as it is applied, in order.
	Watch func(from actors.Address, e *actors.Effect)

	Now     time.Time
	Counts  [actors.Counters]uint64
	Trace   []string // what was delivered, without positions; kept when Tracing
	Tracing bool

	cores   map[actors.Address]actors.Core
	life    map[actors.Address]int // incarnation, so that answers reach the one that asked
	timers  map[actors.Address]time.Time
	flight  flight
	last    map[[2]actors.Address]time.Time // latest arrival per pair, for order
	sent    uint64
	out     actors.Outbox
	replies map[actors.Ask]any
	resyncs map[actors.Address]bool // on their way
}

// NewWorld returns an empty World that starts at now.
func NewWorld(seed uint64, now time.Time) *World {
	return &World{
		Rand: rand.New(rand.NewPCG(seed, 0x6b697468)), Now: now,
		cores: map[actors.Address]actors.Core{}, life: map[actors.Address]int{},
		timers: map[actors.Address]time.Time{}, last: map[[2]actors.Address]time.Time{},
		replies: map[actors.Ask]any{}, resyncs: map[actors.Address]bool{},
	}
}

// parcel is one message under way.
type parcel struct {
	at    time.Time
	order uint64
	to    actors.Address
	life  int // 0 = whichever incarnation there is
	m     actors.Message
}

type flight []parcel

func (f flight) Len() int      { return len(f) }
func (f flight) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f flight) Less(i, j int) bool {
	if f[i].at.Equal(f[j].at) {
		return f[i].order < f[j].order
	}
	return f[i].at.Before(f[j].at)
}
func (f *flight) Push(x any) { *f = append(*f, x.(parcel)) }
func (f *flight) Pop() any {
	old := *f
	last := old[len(old)-1]
	old[len(old)-1] = parcel{}
	*f = old[:len(old)-1]
	return last
}

// Start delivers m now to an actor, which is started if it does not run.
func (w *World) Start(to actors.Address, m actors.Message) {
	if w.cores[to] == nil {
		w.life[to]++
		w.cores[to] = w.Factory(to, w.Now)
	}
	w.step(to, m)
}

// Send delivers m now, if the actor runs.
func (w *World) Send(to actors.Address, m actors.Message) {
	if w.cores[to] != nil {
		w.step(to, m)
	}
}

// Later delivers m within the delay, in no order: as one of many services would.
func (w *World) Later(to actors.Address, m actors.Message) {
	w.post(to, 0, m, w.delay())
}

// Crash removes an actor as a panic does: nobody is told.
func (w *World) Crash(to actors.Address) {
	delete(w.cores, to)
	delete(w.timers, to)
}

// Running reports whether the actor runs.
func (w *World) Running(to actors.Address) bool { return w.cores[to] != nil }

// Ask delivers a question and returns the answer, or nil if the actor does not run.
func (w *World) Ask(to actors.Address, question func(actors.Ask) actors.Message) any {
	w.sent++
	ask := actors.Ask(w.sent)
	w.Send(to, question(ask))
	answer := w.replies[ask]
	delete(w.replies, ask)
	return answer
}

// RunFor lets time pass: everything that falls due meanwhile happens.
func (w *World) RunFor(d time.Duration) {
	end := w.Now.Add(d)
	for w.next(end) {
	}
	w.Now = end
}

// Rest runs until nothing is under way, at most for limit. Faults are off
// meanwhile; timers that fall due within it run.
func (w *World) Rest(limit time.Duration) {
	faults := w.Faults
	w.Faults = Faults{}
	w.RunFor(limit)
	w.Faults = faults
	if len(w.flight) > 0 {
		panic(fmt.Sprintf("actorstest: %d messages still under way after %v: the actors talk for ever", len(w.flight), limit))
	}
}

// next does the earliest thing due until end.
func (w *World) next(end time.Time) bool {
	var timer actors.Address
	due := end.Add(1)
	for to, at := range w.timers {
		if at.Before(due) || (at.Equal(due) && less(to, timer)) {
			timer, due = to, at
		}
	}
	if len(w.flight) > 0 && !w.flight[0].at.After(due) && !w.flight[0].at.After(end) {
		p := heap.Pop(&w.flight).(parcel)
		w.advance(p.at)
		switch m := p.m.(type) {
		case *late:
			p.m = m.ask()
		case *actors.Resync:
			delete(w.resyncs, p.to)
		}
		if w.cores[p.to] != nil && (p.life == 0 || p.life == w.life[p.to]) {
			w.step(p.to, p.m)
		}
		return true
	}
	if due.After(end) {
		return false
	}
	w.advance(due)
	delete(w.timers, timer)
	w.step(timer, &actors.Tick{})
	return true
}

func less(a, b actors.Address) bool { return a.Kind < b.Kind || (a.Kind == b.Kind && a.ID < b.ID) }

func (w *World) advance(to time.Time) {
	if to.After(w.Now) {
		w.Now = to
	}
}

func (w *World) step(to actors.Address, m actors.Message) {
	if w.Tracing {
		w.Trace = append(w.Trace, fmt.Sprintf("%s %v <- %T %v", w.Now.Format("15:04:05.000"), to, m, describe(m)))
	}
	out := w.out // a Core may be stepped from Watch
	w.out = actors.Outbox{}
	out.Reset()
	w.cores[to].Step(w.Now, m, &out)
	for i := range out.Counts {
		w.Counts[i] += out.Counts[i]
		out.Counts[i] = 0
	}
	for i := range out.Effects {
		w.apply(to, &out.Effects[i])
	}
	w.out = out
}

func describe(m actors.Message) string {
	if s, ok := m.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

func (w *World) apply(from actors.Address, e *actors.Effect) {
	if w.Tracing {
		w.Trace = append(w.Trace, fmt.Sprintf("%s %v    %v", w.Now.Format("15:04:05.000"), from, e))
	}
	if w.Watch != nil {
		w.Watch(from, e)
	}
	id, friend, users := presence.UserID(from.ID), e.User, e.Users // the effect is reused
	switch e.Kind {
	case actors.Send:
		w.carry(from, e.To, e.Message)
	case actors.Timer:
		w.timers[from] = e.At
	case actors.LoadFriends:
		w.answer(from, func() actors.Message { return w.Loader.LoadFriends(id) })
	case actors.LoadFriend:
		w.answer(from, func() actors.Message { return w.Loader.LoadFriend(id, friend) })
	case actors.Locate:
		w.answer(from, func() actors.Message { return w.locate(users) })
	case actors.Reply:
		w.replies[e.Ask] = e.Answer
	case actors.Stop:
		w.Crash(from)
	}
}

func (w *World) locate(ids []presence.UserID) *actors.Located {
	located := &actors.Located{Asked: ids}
	for _, id := range ids {
		if w.cores[actors.User(id)] != nil {
			located.Online = append(located.Online, id)
		}
	}
	return located
}

// answer asks now or at the end of the delay, whichever the seed says, since a
// real answer may be from either side of a change made meanwhile.
func (w *World) answer(to actors.Address, ask func() actors.Message) {
	if m := ask(); w.Rand.IntN(2) == 0 {
		w.post(to, w.life[to], m, w.delay())
		return
	}
	w.post(to, w.life[to], &late{ask: ask}, w.delay())
}

// late is a question to the store or directory that is answered on arrival.
type late struct {
	actors.Resync
	ask func() actors.Message
}

// carry takes a message from one actor to another, with all faults.
func (w *World) carry(from, to actors.Address, m actors.Message) {
	if w.Rand.Float64() < w.Faults.Drop {
		w.resync(from)
		w.resync(to)
		return
	}
	delay := w.delay()
	pair := [2]actors.Address{from, to}
	if at := w.Now.Add(delay); !w.Faults.Reorder && at.Before(w.last[pair]) {
		delay = w.last[pair].Sub(w.Now)
	}
	w.last[pair] = w.Now.Add(delay)
	w.post(to, 0, m, delay)
	if w.Rand.Float64() < w.Faults.Duplicate {
		w.post(to, 0, m, delay+w.delay())
	}
}

// resync tells one end of a loss, some time after it. One that is on its way
// already serves for this loss too, as one reset of a link serves for all.
func (w *World) resync(to actors.Address) {
	if !w.resyncs[to] {
		w.resyncs[to] = true
		w.post(to, 0, &actors.Resync{}, w.delay()+w.Faults.Delay+time.Duration(w.Rand.Int64N(int64(pace))))
	}
}

func (w *World) delay() time.Duration {
	if w.Faults.Delay <= 0 {
		return 0
	}
	return time.Duration(w.Rand.Int64N(int64(w.Faults.Delay)))
}

func (w *World) post(to actors.Address, life int, m actors.Message, delay time.Duration) {
	w.sent++
	heap.Push(&w.flight, parcel{at: w.Now.Add(delay), order: w.sent, to: to, life: life, m: m})
}

// Story is the trace as text.
func (w *World) Story() string { return strings.Join(w.Trace, "\n") }
