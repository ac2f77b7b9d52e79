package host

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/actors"
)

// invoker stands in for protoactor's side of a mailbox.
type invoker struct {
	user   func(c *chunk)
	system func(msg any)
}

func (i *invoker) InvokeSystemMessage(m any) { i.system(m) }
func (i *invoker) InvokeUserMessage(m any)   { i.user(m.(*chunk)) }
func (i *invoker) EscalateFailure(any, any)  {}

// held is a dispatcher whose work runs when the test says so.
type held struct{ work []func() }

func (h *held) Schedule(f func()) { h.work = append(h.work, f) }
func (h *held) Throughput() int   { return 2 }

func (h *held) run() {
	for len(h.work) > 0 {
		f := h.work[0]
		h.work = h.work[1:]
		f()
	}
}

// TestH4_MailboxKeepsOrder posts runs of deliveries one by one and in chunks, and
// takes some out in between.
func TestH4_MailboxKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got []uint64
		m := &mailbox{tally: new(tally), lean: rapid.Bool().Draw(t, "lean")}
		in := &invoker{user: func(c *chunk) {
			for _, d := range c.items[:c.n] {
				got = append(got, d.id)
			}
			m.settle(c.n, 0)
			c.free()
		}}
		d := &held{}
		m.RegisterHandlers(in, d)
		m.Start()
		var sent uint64
		for range rapid.IntRange(1, 40).Draw(t, "ops") {
			n := rapid.IntRange(1, chunkSize).Draw(t, "n")
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				c := newChunk(largest)
				for range n {
					sent++
					c.add(delivery{id: sent})
				}
				back, taken := m.postChunk(c)
				require.True(t, taken)
				if back != nil {
					require.Zero(t, back.n)
					back.free()
				}
			case 1:
				for range n {
					sent++
					require.Equal(t, accepted, m.post(delivery{id: sent}, false))
				}
			case 2:
				d.run()
				require.Len(t, got, int(sent))
			}
			require.Equal(t, int(sent)-len(got), m.UserMessageCount())
		}
		d.run()
		for i, id := range got {
			require.EqualValues(t, i+1, id)
		}
		require.Equal(t, sent, uint64(len(got)))
		require.Nil(t, m.head, "H11: an empty mailbox holds no chunk")
		require.Nil(t, m.tail)
		require.Equal(t, m.tally.posted.Load(), m.tally.done.Load())
	})
}

// TestH1_MailboxIsStartGated: protoactor makes an actor known before its mailbox
// can run. What is posted before waits; nobody panics, nothing is stuck.
func TestH1_MailboxIsStartGated(t *testing.T) {
	m := &mailbox{tally: new(tally)}
	require.Equal(t, accepted, m.post(delivery{id: 1}, false))
	m.PostSystemMessage("started")
	d := &held{}
	var order []any
	m.RegisterHandlers(&invoker{
		user:   func(c *chunk) { order = append(order, c.items[0].id) },
		system: func(msg any) { order = append(order, msg) },
	}, d)
	require.Equal(t, accepted, m.post(delivery{id: 2}, false))
	require.Empty(t, d.work)
	m.Start()
	require.Len(t, d.work, 1)
	d.run()
	require.Equal(t, []any{"started", uint64(1)}, order, "system messages first, then one chunk of both")
}

// TestH1_SpawnStorm starts actors while others send to them by name.
func TestH1_SpawnStorm(t *testing.T) {
	var handled atomic.Int64
	factory := scripted(func(*toyCore, time.Time, actors.Message, *actors.Outbox) { handled.Add(1) })
	h := newHostFor(t, testConfig(), map[actors.Kind]Factory{toyKind: factory, actors.UserKind: factory})
	const names, senders = 2_000, 4
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for id := range uint64(names) {
				h.Start(toyAddress(id), resync)
				h.Send(toyAddress(id), resync)
				h.Start(user(id), resync)
			}
		})
	}
	all.Wait()
	require.NoError(t, h.Quiesce(t.Context()))
	require.EqualValues(t, 3*names*senders, handled.Load())
	require.Equal(t, names, h.Count(toyKind))
	require.Equal(t, names, h.Users())
	closeHost(t, h)
}

func TestH7_MailboxSuspends(t *testing.T) {
	m := &mailbox{tally: new(tally)}
	d := &held{}
	taken := 0
	m.RegisterHandlers(&invoker{user: func(*chunk) { taken++ }}, d)
	m.Start()
	m.PostSystemMessage(&actor.SuspendMailbox{})
	m.post(delivery{}, false)
	d.run()
	require.Zero(t, taken)
	m.PostSystemMessage(&actor.ResumeMailbox{})
	d.run()
	require.Equal(t, 1, taken)
}

// TestH11_QueuesGiveMemoryBack floods a stuck shard and a stuck toy, and wants
// the memory back once they have worked it off.
func TestH11_QueuesGiveMemoryBack(t *testing.T) {
	cfg := testConfig()
	cfg.Mailbox = 1 << 20
	h := newHostFor(t, cfg, map[actors.Kind]Factory{actors.UserKind: scripted(nil), toyKind: scripted(nil)})
	defer closeHost(t, h)
	before := heap()
	gate := make(chan struct{})
	for _, to := range []actors.Address{user(1), toyAddress(1)} {
		h.Start(to, do(func(*toyCore, time.Time, *actors.Outbox) { <-gate }))
		for range 200_000 {
			h.Send(to, resync)
		}
	}
	require.Greater(t, heap()-before, int64(2*200_000*24))
	close(gate)
	require.NoError(t, h.Quiesce(t.Context()))
	require.Less(t, heap()-before, int64(300_000))
}

// TestH11_BytesPerUser weighs 100,000 users with a timer each, less their Cores.
func TestH11_BytesPerUser(t *testing.T) {
	const users = 100_000
	type small struct{ toyCore }
	h := newHostFor(t, testConfig(), map[actors.Kind]Factory{actors.UserKind: func(uint64, time.Time) actors.Core {
		return &small{toyCore{step: func(now time.Time, _ actors.Message, out *actors.Outbox) {
			out.Timer(now.Add(time.Hour))
		}}}
	}})
	defer closeHost(t, h)
	before := heap()
	for id := range uint64(users) {
		h.Start(user(id), resync)
	}
	require.NoError(t, h.Quiesce(t.Context()))
	perUser := float64(heap()-before)/users - 16 // the Core: two words
	t.Logf("%.1f bytes a user", perUser)
	require.Less(t, perUser, 80.0)
	require.Greater(t, perUser, 40.0, "else this did not measure what it says")
	require.Equal(t, users, h.timers())
}

// TestH11_OneMessageEach: lone actors that have little to do hold little.
func TestH11_OneMessageEach(t *testing.T) {
	const toys = 5_000
	h := newHostFor(t, testConfig(), map[actors.Kind]Factory{toyKind: scripted(nil)})
	defer closeHost(t, h)
	for id := range uint64(toys) {
		h.Start(toyAddress(id), nothing())
	}
	require.NoError(t, h.Quiesce(t.Context()))
	before := heap()
	gate := make(chan struct{})
	for id := range uint64(toys) {
		h.Send(toyAddress(id), do(func(*toyCore, time.Time, *actors.Outbox) { <-gate }))
	}
	for h.lones.tally.posted.Load()-h.lones.tally.done.Load() < toys {
		runtime.Gosched()
	}
	require.Less(t, (heap()-before)/toys, int64(1000))
	close(gate)
	require.NoError(t, h.Quiesce(t.Context()))
}

// TestH11_BytesPerLone weighs 5,000 idle actors outside the shards.
func TestH11_BytesPerLone(t *testing.T) {
	const toys = 5_000
	h := newHostFor(t, testConfig(), map[actors.Kind]Factory{toyKind: scripted(nil)})
	defer closeHost(t, h)
	before := heap()
	for id := range uint64(toys) {
		h.Start(toyAddress(id), nothing())
	}
	require.NoError(t, h.Quiesce(t.Context()))
	each := float64(heap()-before) / toys
	t.Logf("%.0f bytes each", each)
	require.Less(t, each, 1500.0)
}

// heap is what is reachable now, in bytes.
func heap() int64 {
	var m runtime.MemStats
	for range 3 { // pools let go of theirs in the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestH11_BacklogAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q backlog
		var twin []uint64
		var n uint64
		for range rapid.IntRange(1, 20).Draw(t, "ops") {
			for range rapid.IntRange(0, 2*keepBacklog).Draw(t, "push") {
				n++
				q.push(delivery{id: n})
				twin = append(twin, n)
			}
			for range rapid.IntRange(0, len(twin)).Draw(t, "pop") {
				if id := q.pop().id; id != twin[0] {
					t.Fatalf("%d for %d", id, twin[0])
				}
				twin = twin[1:]
			}
			require.Equal(t, len(twin), q.len())
		}
		for range twin {
			q.pop()
		}
		require.LessOrEqual(t, cap(q.items), keepBacklog)
	})
}

// TestH11_BacklogThatNeverEmpties does not grow with what has passed through it.
func TestH11_BacklogThatNeverEmpties(t *testing.T) {
	var q backlog
	q.push(delivery{id: 1})
	for range 1_000_000 {
		q.push(delivery{id: 1})
		q.pop()
	}
	require.LessOrEqual(t, cap(q.items), 4*keepBacklog)
}
