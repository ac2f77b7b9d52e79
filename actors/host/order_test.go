package host

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/actors"
)

// numbered is the n-th message of one sender to one receiver.
type numbered struct {
	actors.Tick
	from, n uint64
}

// relay makes its receiver send numbered messages on.
type relay struct {
	actors.Tick
	to []actors.Address
}

// courseCore checks that it runs alone and that messages of each sender come in
// order.
type courseCore struct {
	t       testing.TB
	self    uint64
	running atomic.Int32
	sent    map[actors.Address]uint64
	heard   map[uint64]uint64
	course  *course
}

// course is what all courseCores of a test share.
type course struct {
	handled atomic.Int64 // numbered messages
}

func (c *courseCore) Step(now time.Time, m actors.Message, out *actors.Outbox) {
	if !c.running.CompareAndSwap(0, 1) {
		c.t.Error("two Steps at once")
	}
	defer c.running.Store(0)
	switch m := m.(type) {
	case *numbered:
		c.course.handled.Add(1)
		if last := c.heard[m.from]; m.n <= last {
			c.t.Errorf("%d after %d", m.n, last)
		}
		c.heard[m.from] = m.n
	case *relay:
		for _, to := range m.to {
			c.sent[to]++
			out.Send(to, &numbered{from: c.self, n: c.sent[to]})
		}
		out.Timer(now.Add(time.Millisecond))
	}
}

func (c *course) factory(t testing.TB, kind actors.Kind) Factory {
	return func(id uint64, _ time.Time) actors.Core {
		return &courseCore{
			t: t, self: uint64(kind)<<32 | id, course: c,
			sent: map[actors.Address]uint64{}, heard: map[uint64]uint64{},
		}
	}
}

// TestH4_FIFO sends along random ways, among users of all shards and toys, from
// outside and between actors, and checks order and that nothing is lost.
func TestH4_FIFO(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &course{}
		cfg := testConfig()
		cfg.Shards = rapid.IntRange(1, 5).Draw(rt, "shards")
		h := newHostFor(t, cfg, map[actors.Kind]Factory{
			actors.UserKind: c.factory(t, actors.UserKind), toyKind: c.factory(t, toyKind),
		})
		defer closeHost(t, h)
		address := rapid.Custom(func(rt *rapid.T) actors.Address {
			id := rapid.Uint64Range(1, 12).Draw(rt, "id")
			if rapid.Bool().Draw(rt, "toy") {
				return toyAddress(id)
			}
			return user(id)
		})
		for id := range uint64(13) {
			h.Start(user(id), resync)
			h.Start(toyAddress(id), resync)
		}
		var want int64
		var senders sync.WaitGroup
		for sender := range rapid.IntRange(1, 4).Draw(rt, "senders") {
			ways := rapid.SliceOfN(rapid.SliceOfN(address, 1, 30), 1, 60).Draw(rt, "ways")
			for _, way := range ways {
				want += int64(len(way))
			}
			senders.Go(func() {
				sent := map[actors.Address]uint64{}
				for i, way := range ways {
					if i%2 == 0 {
						h.Send(way[0], &relay{to: way})
						continue
					}
					for _, to := range way {
						sent[to]++
						h.Send(to, &numbered{from: 1<<62 + uint64(sender), n: sent[to]})
					}
				}
			})
		}
		senders.Wait()
		require.NoError(t, h.Quiesce(t.Context()))
		require.Equal(t, want, c.handled.Load(), "H16: at rest, everything sent has arrived")
	})
}

// TestH4_LeftoversReachTheNextLife: what is queued behind a Stop is dropped up
// to the first starting message, and goes to the new life from there on.
func TestH4_LeftoversReachTheNextLife(t *testing.T) {
	both(t, func(t *testing.T, h *Host, _ *fakePorts, to actors.Address) {
		var got []int
		lives := map[*toyCore]bool{}
		mark := func(n int) actors.Message {
			return do(func(c *toyCore, _ time.Time, _ *actors.Outbox) {
				got = append(got, n)
				lives[c] = true
			})
		}
		gate := make(chan struct{})
		h.Start(to, do(func(*toyCore, time.Time, *actors.Outbox) { <-gate }))
		synctest.Wait() // in its Step; all that follows is queued
		h.Send(to, mark(1))
		h.Send(to, stop())
		h.Send(to, mark(2))
		h.Send(to, mark(3))
		h.Start(to, mark(4))
		h.Send(to, mark(5))
		h.Send(to, stop())
		h.Start(to, mark(6))
		h.Send(to, mark(7))
		close(gate)
		synctest.Wait()
		require.Equal(t, []int{1, 4, 5, 6, 7}, got)
		require.Equal(t, 2, h.droppedFor(noActor))
		require.Len(t, lives, 3)
		require.Equal(t, 1, h.Count(to.Kind))
	})
}

// TestH3_StormOfStartsAndStops: many goroutines start, stop, break and use the
// same few actors. Every message is handled or counted as dropped.
func TestH3_StormOfStartsAndStops(t *testing.T) {
	const senders, each = 8, 2_000
	var handled, stops, ticks atomic.Int64
	factory := func(id uint64, _ time.Time) actors.Core {
		ended := false // of this Core; the race detector minds that only its turn touches it
		return &toyCore{id: id, step: func(now time.Time, m actors.Message, out *actors.Outbox) {
			if ended {
				t.Error("Step after the end")
			}
			if _, ok := m.(*actors.Tick); ok {
				ticks.Add(1)
				return
			}
			handled.Add(1)
			out.Timer(now.Add(time.Millisecond))
			switch m.(*numbered).n % 7 {
			case 0:
				ended = true
				stops.Add(1)
				out.Stop()
			case 1:
				ended = true
				panic("broken")
			}
		}}
	}
	cfg := testConfig()
	cfg.Tick = time.Millisecond
	h := newHostFor(t, cfg, map[actors.Kind]Factory{actors.UserKind: factory, toyKind: factory})
	var all sync.WaitGroup
	for sender := range uint64(senders) {
		all.Go(func() {
			for n := range uint64(each) {
				to := user(n % 5)
				if (n+sender)%3 == 0 {
					to = toyAddress(n % 5)
				}
				m := &numbered{from: sender, n: n*2654435761>>7 + sender}
				if n%2 == 0 {
					h.Start(to, m)
				} else {
					h.Send(to, m)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, h.Quiesce(t.Context()))
	require.Equal(t, senders*each, int(handled.Load())+h.droppedFor(noActor), "H1: handled or counted")
	require.Positive(t, stops.Load())
	closeHost(t, h)
	require.Zero(t, h.Users()+h.Count(toyKind))
	require.Zero(t, h.timers())
}

// TestH16_QuiesceAfterChains: chains of messages that cross shards, toys and the
// loader are over when Quiesce returns, never before.
func TestH16_QuiesceAfterChains(t *testing.T) {
	var left atomic.Int64
	hop := func(id uint64, _ time.Time) actors.Core {
		return &toyCore{id: id, step: func(_ time.Time, m actors.Message, out *actors.Outbox) {
			if _, ok := m.(*actors.FriendsLoaded); ok {
				left.Add(-1)
				return
			}
			n, ok := m.(*numbered)
			if !ok {
				return
			}
			left.Add(-1)
			if n.n == 0 {
				out.LoadFriends()
				return
			}
			to := user((n.from + n.n*7) % 20)
			if n.n%5 == 0 {
				to = toyAddress(n.n % 20)
			}
			out.Send(to, &numbered{from: n.from, n: n.n - 1})
		}}
	}
	h := newHostFor(t, testConfig(), map[actors.Kind]Factory{actors.UserKind: hop, toyKind: hop})
	defer closeHost(t, h)
	for id := range uint64(20) {
		h.Start(user(id), resync)
		h.Start(toyAddress(id), resync)
	}
	for round := range uint64(300) {
		left.Store(4 * (41 + 1))
		for chain := range uint64(4) {
			h.Send(user((round+chain)%20), &numbered{from: chain, n: 40})
		}
		require.NoError(t, h.Quiesce(t.Context()))
		require.Zero(t, left.Load())
	}
}

// TestH16_LongLocalChain: what does not fit a turn goes on in the next, with
// nothing else to wake the shard.
func TestH16_LongLocalChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hops := 0
		factory := scripted(func(c *toyCore, _ time.Time, m actors.Message, out *actors.Outbox) {
			hops++
			if n := m.(*numbered).n; n > 0 {
				out.Send(user(3-c.id), &numbered{n: n - 1})
			}
		})
		cfg := testConfig()
		cfg.Shards = 1
		h := newHost(t, cfg, &fakePorts{}, map[actors.Kind]Factory{actors.UserKind: factory})
		h.Start(user(1), nothing())
		h.Start(user(2), nothing())
		h.Send(user(1), &numbered{n: 3*localPerTurn - 1})
		synctest.Wait()
		require.Equal(t, 3*localPerTurn, hops)
	})
}

// TestH4_LongLocalChain: a shard whose actors never rest goes on serving others.
func TestH4_LongLocalChain(t *testing.T) {
	var ended atomic.Bool
	var others atomic.Int64
	factory := scripted(func(c *toyCore, _ time.Time, m actors.Message, out *actors.Outbox) {
		if _, ok := m.(*actors.Resync); ok {
			others.Add(1)
			return
		}
		if !ended.Load() {
			out.Send(user(3-c.id), m) // 1 and 2 throw it to and fro
		}
	})
	cfg := testConfig()
	cfg.Shards = 1
	h := newHostFor(t, cfg, map[actors.Kind]Factory{actors.UserKind: factory})
	defer closeHost(t, h)
	h.Start(user(1), nothing())
	h.Start(user(2), nothing())
	h.Start(user(9), nothing())
	h.Send(user(1), &numbered{})
	answered, err := h.Ask(t.Context(), user(9), func(a actors.Ask) actors.Message {
		return do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.Reply(a, true) })
	})
	require.NoError(t, err)
	require.Equal(t, true, answered)
	h.Send(user(9), resync)
	ended.Store(true)
	require.NoError(t, h.Quiesce(t.Context()))
	require.EqualValues(t, 1, others.Load())
}
