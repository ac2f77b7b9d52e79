package host

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toyKind is a kind of actor outside the shards.
const toyKind = actors.Kind(200)

func toyAddress(id uint64) actors.Address { return actors.Address{Kind: toyKind, ID: id} }
func user(id uint64) actors.Address       { return actors.User(presence.UserID(id)) }

// toyCore does what a func says.
type toyCore struct {
	id   uint64
	step func(now time.Time, m actors.Message, out *actors.Outbox)
}

func (c *toyCore) Step(now time.Time, m actors.Message, out *actors.Outbox) { c.step(now, m, out) }

// script is a message that says what its receiver does.
type script struct {
	actors.Tick
	do func(c *toyCore, now time.Time, out *actors.Outbox)
}

// scripted is a Core that does what scripts say and hands the rest to other.
func scripted(other func(c *toyCore, now time.Time, m actors.Message, out *actors.Outbox)) Factory {
	return func(id uint64, _ time.Time) actors.Core {
		c := &toyCore{id: id}
		c.step = func(now time.Time, m actors.Message, out *actors.Outbox) {
			if s, ok := m.(*script); ok {
				s.do(c, now, out)
			} else if other != nil {
				other(c, now, m, out)
			}
		}
		return c
	}
}

func do(f func(c *toyCore, now time.Time, out *actors.Outbox)) actors.Message { return &script{do: f} }

func nothing() actors.Message {
	return do(func(*toyCore, time.Time, *actors.Outbox) {})
}

func stop() actors.Message {
	return do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.Stop() })
}

// fakePorts records what reaches the ports, in order.
type fakePorts struct {
	mu     sync.Mutex
	events []any
	load   func(ctx context.Context, id presence.UserID) *actors.FriendsLoaded
}

type (
	welcomed struct {
		conn presence.ConnID
		w    *presence.Welcome
	}
	pushed struct {
		conn presence.ConnID
		c    *presence.Change
	}
	notified struct {
		conn presence.ConnID
		n    presence.Notice
	}
	ended struct {
		conn presence.ConnID
		code presence.CloseCode
	}
)

func (p *fakePorts) add(e any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
}

func (p *fakePorts) seen() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]any(nil), p.events...)
}

func (p *fakePorts) Welcome(c presence.ConnID, w *presence.Welcome) { p.add(welcomed{c, w}) }
func (p *fakePorts) Push(c presence.ConnID, ch *presence.Change)    { p.add(pushed{c, ch}) }
func (p *fakePorts) Notify(c presence.ConnID, n presence.Notice)    { p.add(notified{c, n}) }
func (p *fakePorts) Close(c presence.ConnID, k presence.CloseCode)  { p.add(ended{c, k}) }
func (p *fakePorts) Record(b *presence.Batch)                       { p.add(b) }

func (p *fakePorts) LoadFriends(ctx context.Context, id presence.UserID) *actors.FriendsLoaded {
	if p.load != nil {
		return p.load(ctx, id)
	}
	return &actors.FriendsLoaded{Self: presence.PublicID("self")}
}

func (p *fakePorts) LoadFriend(_ context.Context, _, friend presence.UserID) *actors.FriendLoaded {
	return &actors.FriendLoaded{Friendship: presence.Friendship{Friend: friend}, Friends: true}
}

// testConfig is Default with a few shards, so that messages cross them.
func testConfig() Config {
	cfg := Default()
	cfg.Shards = 3
	return cfg
}

func newHost(t testing.TB, cfg Config, ports *fakePorts, factories map[actors.Kind]Factory) *Host {
	t.Helper()
	h, err := New(cfg, Ports{Clients: ports, Recorder: ports, Loader: ports}, factories, prometheus.NewRegistry(), nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		if !h.closing.Load() { // else the test has closed it, in its own way
			closeHost(t, h)
		}
	})
	return h
}

// newHostFor is a host that the test closes.
func newHostFor(t testing.TB, cfg Config, factories map[actors.Kind]Factory) *Host {
	t.Helper()
	ports := &fakePorts{}
	h, err := New(cfg, Ports{Clients: ports, Recorder: ports, Loader: ports}, factories, nil, nil)
	require.NoError(t, err)
	return h
}

func closeHost(t testing.TB, h *Host) {
	t.Helper()
	require.NoError(t, h.Close(context.Background()))
}

// hosted runs f in a synctest bubble with a host whose users and toys are
// scripted.
func hosted(t *testing.T, f func(t *testing.T, h *Host, ports *fakePorts)) {
	synctest.Test(t, func(t *testing.T) {
		ports := &fakePorts{}
		h := newHost(t, testConfig(), ports, map[actors.Kind]Factory{actors.UserKind: scripted(nil), toyKind: scripted(nil)})
		f(t, h, ports)
	})
}

// both runs f for an actor in a shard and for one of its own.
func both(t *testing.T, f func(t *testing.T, h *Host, ports *fakePorts, to actors.Address)) {
	for name, to := range map[string]actors.Address{"user": user(7), "toy": toyAddress(7)} {
		t.Run(name, func(t *testing.T) {
			hosted(t, func(t *testing.T, h *Host, ports *fakePorts) { f(t, h, ports, to) })
		})
	}
}

func (h *Host) droppedFor(why dropReason) int { return int(testutil.ToFloat64(h.metrics.dropped[why])) }

func TestH1_OnlyStartStarts(t *testing.T) {
	both(t, func(t *testing.T, h *Host, _ *fakePorts, to actors.Address) {
		steps := 0
		count := do(func(*toyCore, time.Time, *actors.Outbox) { steps++ })
		h.Send(to, count)
		synctest.Wait()
		require.Zero(t, steps)
		require.Zero(t, h.Count(to.Kind))
		require.Equal(t, 1, h.droppedFor(noActor))

		h.Start(to, count)
		h.Send(to, count)
		synctest.Wait()
		require.Equal(t, 2, steps)
		require.Equal(t, 1, h.Count(to.Kind))

		h.Send(to, stop())
		h.Send(to, count)
		synctest.Wait()
		require.Equal(t, 2, steps)
		require.Zero(t, h.Count(to.Kind))
		require.Equal(t, 2, h.droppedFor(noActor))

		h.Send(to, stop())
		h.Start(to, count)
		synctest.Wait()
		require.Equal(t, 3, steps)
	})
}

func TestH2_EffectsInOrder(t *testing.T) {
	both(t, func(t *testing.T, h *Host, ports *fakePorts, to actors.Address) {
		batch, welcome, change := &presence.Batch{}, &presence.Welcome{}, &presence.Change{}
		notice := presence.Notice{Kind: presence.Accepted, User: "a"}
		h.Start(to, do(func(_ *toyCore, _ time.Time, out *actors.Outbox) {
			out.Welcome(1, welcome)
			out.Push(1, change)
			out.Record(batch)
			out.Notify(2, notice)
			out.Push(1, change)
			out.Close(1, presence.Replaced)
			out.Stop()
		}))
		synctest.Wait()
		require.Equal(t, []any{
			welcomed{1, welcome},
			pushed{1, change},
			batch,
			notified{2, notice},
			pushed{1, change},
			ended{1, presence.Replaced},
		}, ports.seen())
		require.Zero(t, h.Count(to.Kind))
	})
}

func TestH6_TimerReplacedAndCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type wake struct {
			kind actors.Kind
			at   time.Duration
		}
		var mu sync.Mutex
		var woken []wake
		start := time.Now()
		core := func(kind actors.Kind) Factory {
			return scripted(func(_ *toyCore, now time.Time, m actors.Message, _ *actors.Outbox) {
				require.IsType(t, &actors.Tick{}, m)
				mu.Lock()
				defer mu.Unlock()
				woken = append(woken, wake{kind, now.Sub(start)})
			})
		}
		h := newHost(t, testConfig(), &fakePorts{}, map[actors.Kind]Factory{actors.UserKind: core(actors.UserKind), toyKind: core(toyKind)})
		for _, to := range []actors.Address{user(1), toyAddress(1)} {
			woken = nil
			start = time.Now()
			arm := func(in time.Duration) actors.Message {
				at := start.Add(in)
				return do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.Timer(at) })
			}
			h.Start(to, arm(time.Minute))
			h.Send(to, arm(10*time.Minute)) // later
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			require.Empty(t, woken)
			h.Send(to, arm(3*time.Minute)) // earlier
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			require.Equal(t, []wake{{to.Kind, 3 * time.Minute}}, woken, "once, and at its time")

			h.Send(to, arm(-time.Hour)) // long past: at once
			synctest.Wait()
			time.Sleep(20 * time.Millisecond)
			synctest.Wait()
			require.Len(t, woken, 2)

			h.Send(to, arm(40*time.Minute))
			h.Send(to, stop())
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Len(t, woken, 2, "a stopped actor is not woken")
			require.Zero(t, h.timers())
		}
	})
}

func TestH7_PanicEndsOneActor(t *testing.T) {
	both(t, func(t *testing.T, h *Host, ports *fakePorts, to actors.Address) {
		other := to
		other.ID++
		var steps atomic.Int64
		count := do(func(*toyCore, time.Time, *actors.Outbox) { steps.Add(1) })
		h.Start(other, count)
		h.Start(to, do(func(_ *toyCore, now time.Time, out *actors.Outbox) {
			out.Timer(now.Add(time.Second))
			out.Push(9, &presence.Change{})
		}))
		synctest.Wait()
		require.Len(t, ports.seen(), 1)
		h.Send(to, do(func(_ *toyCore, _ time.Time, out *actors.Outbox) {
			out.Push(9, &presence.Change{})
			panic(errors.New("secret 52.5"))
		}))
		h.Send(to, count)
		h.Send(other, count)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(t, 2, steps.Load(), "the other goes on, the broken one gets nothing more")
		require.Len(t, ports.seen(), 1, "effects of the step that panicked are discarded")
		require.Equal(t, 1, h.droppedFor(noActor))
		require.InDelta(t, 1, testutil.ToFloat64(h.metrics.panics.WithLabelValues(to.Kind.String())), 0)
		h.Start(to, count)
		synctest.Wait()
		require.EqualValues(t, 3, steps.Load(), "a starting message makes a new one")
	})
}

func TestH8_Ask(t *testing.T) {
	both(t, func(t *testing.T, h *Host, _ *fakePorts, to actors.Address) {
		answer := func(v any) func(actors.Ask) actors.Message {
			return func(a actors.Ask) actors.Message {
				return do(func(_ *toyCore, _ time.Time, out *actors.Outbox) { out.Reply(a, v) })
			}
		}
		_, err := h.Ask(t.Context(), to, answer(1))
		require.ErrorIs(t, err, ErrNoActor)

		h.Start(to, nothing())
		got, err := h.Ask(t.Context(), to, answer(42))
		require.NoError(t, err)
		require.Equal(t, 42, got)

		silent := func(actors.Ask) actors.Message { return nothing() }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = h.Ask(ctx, to, silent)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, h.asks.pending(), "nothing waits for an answer any more")

		for name, end := range map[string]actors.Message{
			"stop":  stop(),
			"panic": do(func(*toyCore, time.Time, *actors.Outbox) { panic("x") }),
		} {
			h.Start(to, nothing())
			failed := make(chan error, 1)
			go func() {
				_, err := h.Ask(t.Context(), to, silent)
				failed <- err
			}()
			synctest.Wait()
			h.Send(to, end)
			require.ErrorIs(t, <-failed, ErrStopped, name)
		}
		require.Zero(t, h.asks.pending())
		require.Empty(t, h.asks.at)
	})
}
