package sim

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/sdk/go/kith"
)

// twin is a server that is right, with people who talk to it over slow lines:
// what the oracle sees of it is never a fault. Each way of lie makes it wrong.
// Everybody is everybody's friend.
type twin struct {
	random *rand.Rand
	oracle *oracle
	faults []Fault
	rest   bool
	pairs  int
	lie    string

	now     time.Duration
	events  events
	planned int
	people  []*twinPerson
	views   []*viewer
}

type twinPerson struct {
	// On the server.
	online   bool
	attached int // the life that is connected
	left     time.Duration
	session  uint64
	at       *geo.Point
	mark     mark
	number   int // of the mark
	near     map[int32]bool
	// At the client.
	view             map[int32]seen
	open, connecting bool
	life             int           // of the connection
	next             time.Duration // what is sent to it arrives in order
	up               time.Duration // and what it sends
	unsent           []int         // marks without an acknowledgement
}

const (
	twinRadius = 1000.0
	twinExit   = 1050.0
	twinWait   = 2 * time.Second // the oracle's tolerance
	twinGrace  = 5 * time.Second
)

type event struct {
	at time.Duration
	n  int // of two at the same time, the earlier planned
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newTwin(seed uint64, people int, lie string) *twin {
	w := &twin{random: rand.New(rand.NewPCG(seed, 9)), lie: lie}
	p := &Population{}
	for i := range people {
		h := Human{Name: nameOf(i)}
		for j := range people {
			if j != i {
				h.Friends = append(h.Friends, int32(j))
			}
		}
		p.People = append(p.People, h)
	}
	w.oracle = newOracle(p, nil, twinWait, twinGrace)
	w.oracle.tell = func(_ kind, f Fault) { w.faults = append(w.faults, f) }
	w.oracle.judged = func(pairs int) { w.pairs += pairs }
	for i := range people {
		w.people = append(w.people, &twinPerson{near: map[int32]bool{}, view: map[int32]seen{}})
		w.views = append(w.views, newViewer(w.oracle, int32(i)))
	}
	return w
}

func (w *twin) in(d time.Duration, do func()) {
	w.planned++
	heap.Push(&w.events, event{w.now + d, w.planned, do})
}

func (w *twin) delay(most time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(most)))
}

// run lets time pass.
func (w *twin) run(until time.Duration) {
	for len(w.events) > 0 && w.events[0].at <= until {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

func (w *twin) connect(i int32) {
	p := w.people[i]
	if p.open || p.connecting {
		return
	}
	p.connecting = true
	w.oracle.tracks[i].attempt()
	p.life++
	life := p.life
	w.in(w.delay(200*time.Millisecond), func() { // at the server
		if p.life != life {
			return
		}
		if !p.online && (p.session == 0 || w.now-p.left > twinGrace) {
			p.session++
			w.forget(i)
		}
		p.online, p.attached = true, life
		w.send(i, func() {
			p.open, p.connecting = true, false
			w.oracle.tracks[i].connect(p.session, twinRadius, twinExit, w.now)
			for _, n := range p.unsent {
				w.deliver(i, n)
			}
		})
		if p.at != nil {
			w.full(i)
		}
	})
}

func (w *twin) disconnect(i int32) {
	p := w.people[i]
	if !p.open {
		return
	}
	ended := p.life
	p.life++
	p.open = false
	w.oracle.tracks[i].disconnect(w.now, w.now-twinWait, true)
	w.in(w.delay(100*time.Millisecond), func() {
		if p.attached != ended {
			return // it is back on another connection
		}
		p.online, p.left = false, w.now
		left := w.now
		w.in(twinGrace, func() {
			if !p.online && p.left == left && w.lie != "keeps the gone" {
				w.forget(i)
			}
		})
	})
}

// forget ends a session.
func (w *twin) forget(i int32) {
	w.people[i].at, w.people[i].near = nil, map[int32]bool{}
	for j := range w.people {
		if w.people[j].near[i] {
			delete(w.people[j].near, i)
			w.tellGone(int32(j), i, "offline")
		}
	}
}

func (w *twin) report(i int32) {
	p, t := w.people[i], w.oracle.tracks[i]
	at := spotAt(offset(52, 13, 700*w.random.NormFloat64(), 700*w.random.NormFloat64()))
	t.report(mark{seq: uint64(t.n + 1), ts: w.now.Milliseconds()*10 + int64(t.n), at: at, is: live, sent: w.now})
	p.unsent = append(p.unsent, t.n-1)
	if p.open {
		w.deliver(i, t.n-1)
	}
}

// deliver brings a mark to the server, and the acknowledgement back.
func (w *twin) deliver(i int32, n int) {
	p := w.people[i]
	life, m := p.life, *w.oracle.tracks[i].at(n)
	p.up = max(p.up, w.now+w.delay(1500*time.Millisecond))
	w.in(p.up-w.now, func() {
		if p.life != life {
			return
		}
		if p.at == nil || n > p.number {
			w.take(i, n, m)
		}
		w.send(i, func() {
			w.oracle.tracks[i].ack(m.seq, w.now, func(time.Duration) {})
			p.unsent = slices.DeleteFunc(p.unsent, func(k int) bool { return k <= n })
		})
	})
}

func (w *twin) take(i int32, n int, m mark) {
	p := w.people[i]
	first := p.at == nil
	p.at, p.mark, p.number = &geo.Point{Lat: m.at.lat, Lng: m.at.lng}, m, n
	if first {
		w.full(i) // each session begins with a whole view
	}
	for j := range w.people {
		if int32(j) != i {
			w.look(int32(j), i, true)
			w.look(i, int32(j), true)
		}
	}
}

// look decides whether viewer a sees b.
func (w *twin) look(a, b int32, refresh bool) {
	p, q := w.people[a], w.people[b]
	if p.at == nil || q.at == nil {
		return
	}
	limit := twinRadius
	if p.near[b] {
		limit = twinExit
	}
	in := geo.Distance(*p.at, *q.at) <= limit
	entered := in && !p.near[b]
	switch {
	case in && (entered || refresh):
		p.near[b] = true
		if !(w.lie == "hides" && entered) {
			w.tellNear(a, b, entered)
		}
	case !in && p.near[b]:
		delete(p.near, b)
		if w.lie != "keeps the far" {
			w.tellGone(a, b, "away")
		}
	}
}

func (w *twin) tellNear(a, b int32, entered bool) {
	w.push(a, kith.Friends{Near: []kith.Friend{w.item(a, b, entered)}})
}

func (w *twin) item(a, b int32, entered bool) kith.Friend {
	p, q := w.people[a], w.people[b]
	lat, lng := q.mark.at.degrees()
	f := kith.Friend{
		User: w.oracle.people.People[b].Name, Lat: lat, Lng: lng, TS: q.mark.ts,
		DistanceM: geo.Distance(*p.at, *q.at), Bearing: geo.Bearing(*p.at, *q.at), Entered: entered,
	}
	switch w.lie {
	case "moves":
		f.Lat += 0.0001
	case "stretches":
		f.DistanceM += 5
	case "turns":
		f.Bearing += 20
	}
	return f
}

func (w *twin) tellGone(a, b int32, reason string) {
	if w.lie == "gives wrong reasons" {
		reason = map[string]string{"away": "offline", "offline": "hidden"}[reason]
	}
	w.push(a, kith.Friends{Gone: []kith.Gone{{User: w.oracle.people.People[b].Name, Reason: reason}}})
}

func (w *twin) full(a int32) {
	f := kith.Friends{Full: true}
	for b := range w.people[a].near {
		f.Near = append(f.Near, w.item(a, b, false))
	}
	w.push(a, f)
}

func (w *twin) push(a int32, f kith.Friends) {
	if w.lie == "stays behind" && !f.Full && len(f.Gone) == 0 && !f.Near[0].Entered {
		return
	}
	w.send(a, func() {
		view := w.people[a].view
		if f.Full {
			clear(view)
		}
		for _, g := range f.Gone {
			delete(view, w.oracle.index[g.User])
		}
		for _, n := range f.Near {
			view[w.oracle.index[n.User]] = seen{n.TS, spotAt(n.Lat, n.Lng)}
		}
		w.views[a].receive(f, w.now, func(time.Duration) {})
	})
}

// send brings something to a client, in order, if its connection is still this.
func (w *twin) send(i int32, do func()) {
	p := w.people[i]
	p.next = max(p.next, w.now+w.delay(twinWait-200*time.Millisecond))
	if p.next > w.now+twinWait-100*time.Millisecond {
		p.next = w.now + twinWait - 100*time.Millisecond
	}
	life := p.attached
	w.in(p.next-w.now, func() {
		if p.life == life {
			do()
		}
	})
}

func (w *twin) judge(i int32) { w.oracle.judge(i, w.people[i].view, w.now, w.rest) }
