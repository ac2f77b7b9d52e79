package host

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// stuck makes the actor wait in its Step until release is called.
func stuck(h *Host, to actors.Address) (release func()) {
	gate := make(chan struct{})
	h.Start(to, do(func(*toyCore, time.Time, *actors.Outbox) { <-gate }))
	synctest.Wait()
	return sync.OnceFunc(func() { close(gate) })
}

func smallMarks(t *testing.T, f func(t *testing.T, h *Host, to actors.Address)) {
	cfg := testConfig()
	cfg.HighWater, cfg.Mailbox = 100, 200 // Admit waits over 100 for both
	for name, to := range map[string]actors.Address{"user": user(7), "toy": toyAddress(7)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l listeners
				f(t, newHost(t, cfg, &fakePorts{}, l.factories()), to)
			})
		})
	}
}

func TestH12_AdmitWaitsForLowWater(t *testing.T) {
	smallMarks(t, func(t *testing.T, h *Host, to actors.Address) {
		require.NoError(t, h.Admit(t.Context(), to))
		release := stuck(h, to)
		defer release()
		for range 99 {
			h.Send(to, resync)
		}
		require.NoError(t, h.Admit(t.Context(), to), "at the mark, not over it")
		h.Send(to, resync)

		var admitted atomic.Int64
		var waiting sync.WaitGroup
		for range 10 {
			waiting.Go(func() {
				if h.Admit(t.Context(), to) == nil {
					admitted.Add(1)
				}
			})
		}
		synctest.Wait()
		require.Zero(t, admitted.Load())
		release()
		waiting.Wait()
		require.EqualValues(t, 10, admitted.Load())
		require.InDelta(t, 10, testutil.ToFloat64(h.metrics.waits), 0)
	})
}

func TestH12_AdmitEnds(t *testing.T) {
	smallMarks(t, func(t *testing.T, h *Host, to actors.Address) {
		release := stuck(h, to)
		defer release()
		for range 150 {
			h.Send(to, resync)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, h.Admit(ctx, to), context.DeadlineExceeded)
		start := time.Now()
		require.ErrorIs(t, h.Admit(t.Context(), to), ErrBusy)
		require.Equal(t, h.cfg.AdmitWait, time.Since(start))
		require.InDelta(t, 1, testutil.ToFloat64(h.metrics.waitsEnded), 0)

		ended := make(chan error, 1)
		go func() { ended <- h.Admit(t.Context(), to) }()
		synctest.Wait()
		expired, now := context.WithCancel(t.Context())
		now()
		require.ErrorIs(t, h.Close(expired), context.Canceled)
		require.ErrorIs(t, <-ended, ErrClosed)
		release()
	})
}

// TestH12_GateStaysShutAboveLowWater: those who wait are not let in by the first
// work done.
func TestH12_GateStaysShutAboveLowWater(t *testing.T) {
	cfg := testConfig()
	cfg.HighWater, cfg.Mailbox = 600, 1200 // over 600 wait, down to 300
	for name, to := range map[string]actors.Address{"user": user(7), "toy": toyAddress(7)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l listeners
				h := newHost(t, cfg, &fakePorts{}, l.factories())
				release := stuck(h, to)
				defer release()
				second := make(chan struct{})
				for n := range 1000 {
					if n == 600 {
						h.Send(to, do(func(*toyCore, time.Time, *actors.Outbox) { <-second }))
					}
					h.Send(to, resync)
				}
				var admitted atomic.Bool
				go func() {
					admitted.Store(h.Admit(t.Context(), to) == nil)
				}()
				synctest.Wait()
				release()
				require.Len(t, l.heard(to.Kind), 600)
				require.False(t, admitted.Load())
				close(second)
				require.Len(t, l.heard(to.Kind), 1000)
				require.True(t, admitted.Load())
			})
		})
	}
}

// TestH12_OverfullMailbox: a lone actor's mailbox refuses what is too much, with
// an error to who asked, but never an answer or a Tick.
func TestH12_OverfullMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Mailbox = 10
		var l listeners
		slow := func(context.Context, presence.UserID) *actors.FriendsLoaded {
			time.Sleep(time.Second)
			return &actors.FriendsLoaded{}
		}
		h := newHost(t, cfg, &fakePorts{load: slow}, l.factories())
		to := toyAddress(1)
		h.Start(to, do(func(_ *toyCore, now time.Time, out *actors.Outbox) {
			out.LoadFriends()
			out.Timer(now.Add(time.Second))
		}))
		h.Send(to, do(func(*toyCore, time.Time, *actors.Outbox) { time.Sleep(time.Minute) }))
		synctest.Wait()
		for range 20 {
			h.Send(to, resync)
		}
		require.InDelta(t, 11.5, h.droppedFor(boxFull), 0.5, "one or two of the ten are in hand")
		refused := h.droppedFor(boxFull)
		_, err := h.Ask(t.Context(), to, func(actors.Ask) actors.Message { return nothing() })
		require.ErrorIs(t, err, ErrBusy)
		time.Sleep(2 * time.Second)
		require.Empty(t, l.heard(toyKind), "it sleeps, and its mailbox is full")
		time.Sleep(2 * time.Minute)
		kinds := map[string]int{}
		for _, m := range l.heard(toyKind) {
			kinds[fmt.Sprintf("%T", m)]++
		}
		require.Equal(t, map[string]int{
			"*actors.Tick": 1, "*actors.FriendsLoaded": 1, "*actors.Resync": 20 - refused,
		}, kinds)
	})
}

func TestH8_AsksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Asks = 3
		h := newHost(t, cfg, &fakePorts{}, map[actors.Kind]Factory{actors.UserKind: scripted(nil)})
		h.Start(user(1), nothing())
		var results [4]error
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() {
				_, results[i] = h.Ask(t.Context(), user(1), func(actors.Ask) actors.Message { return nothing() })
			})
		}
		synctest.Wait()
		require.Equal(t, 3, h.asks.pending())
		closeHost(t, h)
		all.Wait()
		busy, ended := 0, 0
		for _, err := range results {
			switch err {
			case ErrBusy:
				busy++
			case ErrClosed:
				ended++
			}
		}
		require.Equal(t, [2]int{1, 3}, [2]int{busy, ended})
		_, err := h.Ask(t.Context(), user(1), nil)
		require.ErrorIs(t, err, ErrClosed)
	})
}

// TestH13_CloseFinishesWhatIsQueued: chains under way are finished, in shards and
// out, and nothing is taken after.
func TestH13_CloseFinishesWhatIsQueued(t *testing.T) {
	hosted(t, func(t *testing.T, h *Host, _ *fakePorts) {
		var hops atomic.Int64
		var hop func(n int) actors.Message
		hop = func(n int) actors.Message {
			return do(func(_ *toyCore, _ time.Time, out *actors.Outbox) {
				hops.Add(1)
				switch {
				case n == 0:
				case n%4 == 0:
					out.Send(toyAddress(uint64(n%3)), hop(n-1))
				default:
					out.Send(user(uint64(n%11)), hop(n-1))
				}
			})
		}
		for id := range uint64(11) {
			h.Start(user(id), nothing())
			h.Start(toyAddress(id), nothing())
		}
		for range 20 {
			h.Send(user(1), hop(99))
		}
		closeHost(t, h)
		require.EqualValues(t, 20*100, hops.Load())
		require.Zero(t, h.Users()+h.Count(toyKind))

		for _, to := range []actors.Address{user(1), toyAddress(1)} {
			h.Start(to, hop(0))
			h.Send(to, hop(0))
			require.NoError(t, h.Admit(t.Context(), to))
		}
		h.Resync(0)
		h.Wake()
		closeHost(t, h)
		require.NoError(t, h.Quiesce(t.Context()))
		require.EqualValues(t, 20*100, hops.Load())
		require.Equal(t, 4, h.droppedFor(afterStop))
	})
}

// TestH13_CloseInTheMiddle closes while many goroutines send, ask and wait, and
// while actors run without end; the caller's patience is short.
func TestH13_CloseInTheMiddle(t *testing.T) {
	var handled atomic.Int64
	factory := scripted(func(c *toyCore, now time.Time, m actors.Message, out *actors.Outbox) {
		handled.Add(1)
		switch m.(type) {
		case *actors.Resync:
			out.Timer(now)
			out.LoadFriends()
			out.Send(user((c.id+1)%50), &numbered{})
			out.Send(toyAddress(c.id%5), &numbered{})
		case *numbered: // goes round for ever
			out.Send(user((c.id+1)%50), m)
		}
	})
	cfg := testConfig()
	cfg.HighWater, cfg.Mailbox = 500, 500
	h := newHostFor(t, cfg, map[actors.Kind]Factory{actors.UserKind: factory, toyKind: factory})
	var senders sync.WaitGroup
	quit := make(chan struct{})
	for s := range uint64(6) {
		senders.Go(func() {
			for n := s; ; n += 6 {
				select {
				case <-quit:
					return
				default:
				}
				_ = h.Admit(context.Background(), user(n%50))
				h.Start(user(n%50), resync)
				h.Start(toyAddress(n%5), resync)
				if n%16 == 0 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
					_, _ = h.Ask(ctx, user(n%50), func(actors.Ask) actors.Message { return nothing() })
					cancel()
				}
			}
		})
	}
	for handled.Load() < 20_000 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_ = h.Close(ctx) // its error depends on how far it came
	close(quit)
	senders.Wait()
	for _, s := range h.shards {
		<-s.ended
	}
	h.lones.running.Wait()
	h.loads.workers.Wait()
	after := handled.Load()
	require.Zero(t, h.Users()+h.Count(toyKind)+h.timers())
	require.Zero(t, h.asks.pending())
	require.NoError(t, h.Quiesce(t.Context()), "nothing is left uncounted")
	require.Equal(t, after, handled.Load())
}

// TestH13_CloseWithAStuckActor: Close does not outwait its context, and all ends
// once the actor comes back.
func TestH13_CloseWithAStuckActor(t *testing.T) {
	both(t, func(t *testing.T, h *Host, _ *fakePorts, to actors.Address) {
		release := stuck(h, to)
		h.Send(to, do(func(*toyCore, time.Time, *actors.Outbox) { t.Error("run after Close gave up") }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, h.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, h.Close(t.Context()), context.DeadlineExceeded, "a second Close says the same")
		release()
		synctest.Wait()
		require.Zero(t, h.Count(to.Kind))
		require.Equal(t, 1, h.droppedFor(afterStop))
	})
}

// TestH13_CloseCancelsLoads: a read that never ends is cancelled.
func TestH13_CloseCancelsLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.LoadTimeout = time.Hour
		load := func(ctx context.Context, _ presence.UserID) *actors.FriendsLoaded {
			<-ctx.Done()
			return &actors.FriendsLoaded{Err: ctx.Err()}
		}
		h := newHost(t, cfg, &fakePorts{load: load}, map[actors.Kind]Factory{actors.UserKind: scripted(nil)})
		h.Start(user(1), loadFriends())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, h.Close(ctx), context.DeadlineExceeded)
		h.loads.workers.Wait()
	})
}

func TestH15_ResyncIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 3000
		var mu sync.Mutex
		got := map[uint64]int{}
		perSecond := map[int64]int{}
		start := time.Now()
		factory := scripted(func(c *toyCore, now time.Time, _ actors.Message, _ *actors.Outbox) {
			mu.Lock()
			defer mu.Unlock()
			got[c.id]++
			perSecond[int64(now.Sub(start)/time.Second)]++
		})
		h := newHost(t, testConfig(), &fakePorts{}, map[actors.Kind]Factory{actors.UserKind: factory})
		for id := range uint64(users) {
			h.Start(user(id), nothing())
		}
		for id := uint64(0); id < users; id += 10 {
			h.Send(user(id), stop()) // holes
		}
		synctest.Wait()
		h.Resync(30 * time.Second)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		require.Len(t, got, users-users/10)
		for id, n := range got {
			require.Equal(t, 1, n, id)
		}
		for second := range int64(30) {
			require.InDelta(t, users*0.9/30, perSecond[second], 15, second)
		}

		h.Resync(0)
		synctest.Wait()
		require.Equal(t, 2, got[1], "pace 0: at once")

		h.Resync(30 * time.Second)
		time.Sleep(10 * time.Second)
		h.Resync(30 * time.Second)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		for id, n := range got {
			require.GreaterOrEqual(t, n, 3, id)
			require.LessOrEqual(t, n, 4, id)
		}
	})
}

func TestH14_EveryCounterIsAMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	ports := &fakePorts{}
	count := scripted(func(_ *toyCore, _ time.Time, _ actors.Message, out *actors.Outbox) {
		for c := range actors.Counters {
			out.Count(c, int(c)+1)
		}
	})
	h, err := New(testConfig(), Ports{Clients: ports, Recorder: ports, Loader: ports}, map[actors.Kind]Factory{actors.UserKind: count, toyKind: count}, registry, nil)
	require.NoError(t, err)
	h.Start(user(1), resync)
	h.Start(toyAddress(1), resync)
	require.NoError(t, h.Quiesce(t.Context()))
	for c := range actors.Counters {
		require.NotNil(t, h.metrics.counts[c], c)
		require.InDelta(t, 2*(float64(c)+1), testutil.ToFloat64(h.metrics.counts[c]), 0, c)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	names := map[string]int{}
	for _, f := range families {
		names[f.GetName()] = len(f.GetMetric())
		require.NotEmpty(t, f.GetHelp())
	}
	require.Equal(t, 2, names["kith_actors"])
	require.Equal(t, 3, names["kith_shard_queue"])
	require.Equal(t, 6, names["kith_fixes_total"])
	require.Equal(t, 2, names["kith_deliveries_total"])
	require.Equal(t, len(presence.Reasons()), names["kith_gone_total"])
	for _, name := range []string{"kith_near_total", "kith_messages_dropped_total", "kith_turn_messages", "kith_loads_queued", "kith_asks_pending", "kith_timers"} {
		require.Contains(t, names, name)
	}
	_, err = New(testConfig(), Ports{Clients: ports, Recorder: ports, Loader: ports}, nil, registry, nil)
	require.ErrorContains(t, err, "metrics", "a registry holds one host")
	closeHost(t, h)
	families, err = registry.Gather()
	require.NoError(t, err)
	require.Empty(t, families, "and lets go of it")
}
