package bench

import (
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// naive is the obvious way to do it on protoactor: an actor per user with its
// default mailbox; a fix is sent to each friend's actor, which computes the
// haversine and, in range, encodes a push of 64 bytes.
type naive struct {
	town      *town
	system    *actor.ActorSystem
	pids      []*actor.PID
	step      []int
	sent      int64
	told      int64
	delivered []atomic.Int64 // 8 words apart, by user
	pushed    []atomic.Int64
}

const apart = 8 // words of a cache line

type (
	naiveFix  struct{ at geo.Point }
	naiveTold struct {
		from presence.UserID
		at   geo.Point
	}
)

// naiveUser is the actor of one user.
type naiveUser struct {
	n       *naive
	id      presence.UserID
	at      geo.Point
	friends []*actor.PID
	ring    ring
}

// Receive implements actor.Actor.
func (u *naiveUser) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *naiveFix:
		u.at = m.at
		told := &naiveTold{from: u.id, at: m.at}
		for _, f := range u.friends {
			c.Send(f, told)
		}
	case *naiveTold:
		if d := haversine(u.at, m.at); d <= 8047 {
			u.ring.put(uint64(m.from), m.at, 0, float32(d), 0)
			u.n.pushed[int(u.id)%16*apart].Add(1)
		}
		u.n.delivered[int(u.id)%16*apart].Add(1)
	}
}

// haversine is the textbook's formula.
func haversine(a, b geo.Point) float64 {
	const radians = math.Pi / 180 / geo.Units
	la, lb := float64(a.Lat)*radians, float64(b.Lat)*radians
	x, y := math.Sin((lb-la)/2), math.Sin(float64(b.Lng-a.Lng)*radians/2)
	return 2 * geo.EarthRadius * math.Asin(math.Sqrt(min(1, x*x+math.Cos(la)*math.Cos(lb)*y*y)))
}

func quietSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
}

func newNaive(t *town) *naive {
	n := &naive{
		town: t, system: quietSystem(), pids: make([]*actor.PID, len(t.homes)), step: make([]int, len(t.homes)),
		delivered: make([]atomic.Int64, 16*apart), pushed: make([]atomic.Int64, 16*apart),
	}
	users := make([]*naiveUser, len(t.homes))
	next := 0
	props := actor.PropsFromProducer(func() actor.Actor { return users[next] })
	for i := range users {
		users[i] = &naiveUser{n: n, id: presence.UserID(i + 1), at: t.at(i, 0)}
		next = i
		n.pids[i] = n.system.Root.Spawn(props)
	}
	for i, u := range users {
		u.friends = make([]*actor.PID, len(t.friends[i]))
		for k, f := range t.friends[i] {
			u.friends[k] = n.pids[f-1]
		}
	}
	return n
}

func (n *naive) fix(i int) {
	n.step[i]++
	n.sent++
	n.told += int64(len(n.town.friends[i]))
	n.system.Root.Send(n.pids[i], &naiveFix{at: n.town.at(i, n.step[i])})
}

func (n *naive) done() (delivered, pushed int64) {
	for i := 0; i < len(n.delivered); i += apart {
		delivered += n.delivered[i].Load()
		pushed += n.pushed[i].Load()
	}
	return delivered, pushed
}

func (n *naive) close() {
	for _, pid := range n.pids {
		n.system.Root.Stop(pid)
	}
	n.system.Shutdown()
}
