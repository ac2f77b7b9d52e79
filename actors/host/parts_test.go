package host

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/actors"
)

func TestConfig(t *testing.T) {
	good := Default()
	require.NoError(t, good.Validate())
	bad := Config{Shards: -1, Tick: time.Microsecond}
	err := bad.Validate()
	for _, fault := range []string{"shards", "high_water", "mailbox", "load_workers", "load_queue", "asks", "admit_wait", "load_timeout", "tick"} {
		require.ErrorContains(t, err, fault)
	}
	_, err = New(bad, Ports{}, nil, nil, nil)
	require.ErrorContains(t, err, "high_water")
	_, err = New(Default(), Ports{}, nil, nil, nil)
	require.ErrorContains(t, err, "loader")
	h := newHost(t, Default(), &fakePorts{}, nil)
	require.Len(t, h.shards, runtime.GOMAXPROCS(0))
}

// TestClock: a deadline's tick has come only when the deadline has.
func TestClock(t *testing.T) {
	start := time.Unix(1000, 0)
	rapid.Check(t, func(t *rapid.T) {
		c := clock{start: start, grain: time.Duration(rapid.IntRange(1, 50).Draw(t, "ms")) * time.Millisecond}
		at := start.Add(time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "at")))
		due := c.due(at, start)
		require.False(t, c.at(due).Before(at))
		require.True(t, due == 0 || c.at(due-1).Before(at))
		require.Equal(t, due, c.passed(c.at(due)))
		if due > 0 {
			require.Equal(t, due-1, c.passed(c.at(due).Add(-1)))
		}
	})
	c := clock{start: start, grain: time.Millisecond}
	require.Zero(t, c.due(time.Time{}, start))
	require.Zero(t, c.passed(start.Add(-time.Hour)))
}

// TestH15_SweepCoversAll: every record once a round, whatever the pace, and
// never more than the share of time that has passed.
func TestH15_SweepCoversAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Uint32Range(1, 300).Draw(t, "total")
		s := sweep{place: rapid.Uint32Range(0, 400).Draw(t, "place")}
		now := rapid.Uint64Range(0, 1000).Draw(t, "start")
		start, pace := now, rapid.Uint64Range(0, 500).Draw(t, "pace")
		s.begin(total, now, pace)
		seen := map[uint32]int{}
		for {
			for range s.due(now) {
				seen[s.step()]++
			}
			if pace > 0 {
				require.LessOrEqual(t, float64(len(seen))/float64(total), float64(now-start)/float64(pace))
			}
			next, more := s.next()
			if !more {
				break
			}
			require.Greater(t, next, now, "the next tick brings something")
			require.Positive(t, s.due(next))
			require.Zero(t, s.due(next-1))
			now = next
		}
		require.Len(t, seen, int(total))
		require.LessOrEqual(t, now, start+pace)
		require.Zero(t, s.due(math.MaxUint64))
	})
	var none sweep
	none.begin(0, 5, 0)
	_, more := none.next()
	require.False(t, more)
}

// TestH1_DirectoryAgainstTwin adds and removes at random, with few and with many
// ids, beside a map.
func TestH1_DirectoryAgainstTwin(t *testing.T) {
	type life struct {
		core        actors.Core
		incarnation uint32
	}
	rapid.Check(t, func(t *rapid.T) {
		var d directory
		twin := map[uint64]life{}
		lives := map[uint32]bool{}
		most := 0
		ids := rapid.Uint64Range(0, rapid.SampledFrom([]uint64{3, 100, 5000, math.MaxUint64}).Draw(t, "ids"))
		check := func(id uint64) {
			_, r := d.find(id)
			if have, ok := twin[id]; ok {
				require.Equal(t, have, life{r.core, r.incarnation})
				require.Equal(t, user(id), r.address())
			} else {
				require.Nil(t, r)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			from, run := ids.Draw(t, "from"), rapid.Uint64Range(1, 400).Draw(t, "run")
			leave := rapid.Bool().Draw(t, "leave")
			for id := from; id < from+run; id++ {
				check(id)
				_, here := twin[id]
				switch {
				case leave && here:
					i, _ := d.find(id)
					d.remove(i)
					delete(twin, id)
				case !leave && !here:
					core := &toyCore{id: id}
					_, r := d.add(id, core)
					require.False(t, lives[r.incarnation], "no two lives have one number")
					lives[r.incarnation] = true
					twin[id] = life{core, r.incarnation}
				}
				check(id)
			}
			most = max(most, len(twin))
		}
		for id := range twin {
			check(id)
			i, _ := d.find(id)
			d.remove(i)
			delete(twin, id)
			check(id)
		}
		require.EqualValues(t, most, d.used, "numbers are used again")
		for _, table := range d.tables {
			require.Zero(t, table.n)
			require.LessOrEqual(t, len(table.slots), minSlots, "H11: tables shrink")
		}
	})
}

// TestShardsAreEven: ids that follow one another spread over any number of shards.
func TestShardsAreEven(t *testing.T) {
	for _, shards := range []int{2, 3, 7, 64} {
		h := &Host{shards: make([]*shard, shards)}
		counts := make([]float64, shards)
		const ids = 200_000
		for id := range uint64(ids) {
			counts[h.shardOf(id+1)]++
		}
		for _, n := range counts {
			require.InEpsilon(t, ids/float64(shards), n, 0.08)
		}
	}
}

// TestH6_NeverEarlyOnceAndNotLate sets timers at random, from 1 ms to days, for
// users and toys, some replaced, and looks when they fire.
func TestH6_NeverEarlyOnceAndNotLate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		grain := time.Duration(rapid.SampledFrom([]int{1, 10, 70}).Draw(rt, "grain")) * time.Millisecond
		times := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(1, 1<<rapid.IntRange(1, 48).Draw(rt, "scale")).Draw(rt, "in"))
		}), 2, 40).Draw(rt, "times")
		synctest.Test(t, func(t *testing.T) {
			fired := make([]int, len(times))
			want := make([]time.Time, len(times))
			factory := scripted(func(c *toyCore, now time.Time, _ actors.Message, _ *actors.Outbox) {
				fired[c.id]++
				late := now.Sub(want[c.id])
				if late < 0 || late >= grain {
					t.Errorf("%v late, at a grain of %v", late, grain)
				}
			})
			cfg := testConfig()
			cfg.Tick = grain
			h := newHost(t, cfg, &fakePorts{}, map[actors.Kind]Factory{actors.UserKind: factory, toyKind: factory})
			for id, in := range times {
				to := user(uint64(id))
				if id%2 == 1 {
					to = toyAddress(uint64(id))
				}
				start := time.Now()
				want[id] = start.Add(in)
				h.Start(to, do(func(_ *toyCore, _ time.Time, out *actors.Outbox) {
					out.Timer(start.Add(times[(id+1)%len(times)]))
					out.Timer(want[id])
				}))
			}
			time.Sleep(4 * 24 * time.Hour)
			synctest.Wait()
			for _, n := range fired {
				require.Equal(t, 1, n)
			}
		})
	})
}

// TestH6_TimerStorm sets and replaces timers of a few actors as fast as it can,
// in real time: each gets its last Tick, and none that was replaced long before.
func TestH6_TimerStorm(t *testing.T) {
	var ticks atomic.Int64
	last := make(chan uint64, 100)
	factory := func(id uint64, _ time.Time) actors.Core {
		rounds := 0
		var want time.Time
		return &toyCore{step: func(now time.Time, m actors.Message, out *actors.Outbox) {
			if _, ok := m.(*actors.Tick); ok {
				ticks.Add(1)
				if now.Before(want) {
					t.Error("a timer that was replaced has fired")
				}
				if rounds == 2_000 {
					last <- id
				}
				return
			}
			rounds++
			want = now.Add(time.Duration(rounds%3) * time.Millisecond)
			out.Timer(want)
		}}
	}
	cfg := testConfig()
	cfg.Tick = time.Millisecond
	h := newHostFor(t, cfg, map[actors.Kind]Factory{actors.UserKind: factory, toyKind: factory})
	defer closeHost(t, h)
	for id := range uint64(10) {
		go func() {
			for range 2_000 {
				h.Start(user(id), resync)
				h.Start(toyAddress(id+10), resync)
			}
		}()
	}
	seen := map[uint64]bool{}
	for len(seen) < 20 {
		seen[<-last] = true
	}
	require.GreaterOrEqual(t, ticks.Load(), int64(20))
}

// TestH6_SetWhileThePulseIsAwake sets a shard's timer after the pulse has looked
// at the shard and before it sleeps: it must see it nevertheless.
func TestH6_SetWhileThePulseIsAwake(t *testing.T) {
	woken := make(chan bool, 1)
	h := newHost(t, testConfig(), &fakePorts{}, map[actors.Kind]Factory{
		actors.UserKind: scripted(func(*toyCore, time.Time, actors.Message, *actors.Outbox) { woken <- true }),
	})
	h.Start(user(1), nothing())
	require.NoError(t, h.Quiesce(t.Context()))
	h.alarms.mu.Lock() // the pulse comes to the alarms last
	h.Wake()
	for range 10_000 {
		runtime.Gosched()
	}
	h.Send(user(1), do(func(_ *toyCore, now time.Time, out *actors.Outbox) { out.Timer(now.Add(time.Millisecond)) }))
	quiet := h.Quiesce(t.Context())
	h.alarms.mu.Unlock()
	require.NoError(t, quiet)
	<-woken
}

// TestWake: with a clock of its own, the host looks again when it is told to.
func TestWake(t *testing.T) {
	var offset atomic.Int64
	start := time.Now()
	cfg := testConfig()
	cfg.Now = func() time.Time { return start.Add(time.Duration(offset.Load())) }
	woken := make(chan time.Time, 1)
	h := newHost(t, cfg, &fakePorts{}, map[actors.Kind]Factory{
		actors.UserKind: scripted(func(_ *toyCore, now time.Time, _ actors.Message, _ *actors.Outbox) { woken <- now }),
	})
	h.Start(user(1), do(func(_ *toyCore, now time.Time, out *actors.Outbox) { out.Timer(now.Add(time.Hour)) }))
	require.NoError(t, h.Quiesce(t.Context()))
	offset.Store(int64(2 * time.Hour))
	h.Wake()
	require.Equal(t, start.Add(2*time.Hour), <-woken)
}
