//go:build unix

package host

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

const (
	benchUsers   = 100_000
	benchFriends = 40
)

// fanCore sends a Told to each friend at every Report, and adds up what it is
// told: as little as an actor can do.
type fanCore struct {
	friends []uint32
	told    presence.Version
}

func (c *fanCore) Step(_ time.Time, m actors.Message, out *actors.Outbox) {
	switch m := m.(type) {
	case *actors.Told:
		c.told += m.Version
	case *actors.Report:
		told := &actors.Told{Version: 1}
		for _, f := range c.friends {
			out.Send(actors.User(presence.UserID(f)), told)
		}
	}
}

func friendsOf(r *rand.Rand) []uint32 {
	friends := make([]uint32, benchFriends)
	for i := range friends {
		friends[i] = r.Uint32N(benchUsers)
	}
	return friends
}

// BenchmarkFanOut measures deliveries: each update of a random user goes to 40
// of 100,000 users. Run both rows together: they compare only with each other.
func BenchmarkFanOut(b *testing.B) {
	b.Run("shards", benchShards)
	b.Run("protoactor-actor-per-user", benchActorPerUser)
}

func benchShards(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	cfg := Default()
	cfg.HighWater = 20_000
	h := newHost(b, cfg, &fakePorts{}, map[actors.Kind]Factory{
		actors.UserKind: func(uint64, time.Time) actors.Core { return &fanCore{friends: friendsOf(r)} },
	})
	for id := range uint64(benchUsers) {
		h.Start(user(id), resync)
		require.NoError(b, h.Quiesce(context.Background())) // one at a time: r is not shared
	}
	report := &actors.Report{}
	updates := 0
	b.ResetTimer()
	m := measure()
	for b.Loop() {
		for range 1000 {
			to := user(uint64(r.IntN(benchUsers)))
			_ = h.Admit(context.Background(), to)
			h.Send(to, report)
		}
		updates += 1000
	}
	require.NoError(b, h.Quiesce(context.Background()))
	m.report(b, float64(updates)*benchFriends)
}

func benchActorPerUser(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	system := newSystem(newHost(b, Default(), &fakePorts{}, nil).log)
	pids := make([]*actor.PID, benchUsers)
	var delivered atomic.Int64
	for id := range pids {
		friends := friendsOf(r)
		var sum presence.Version
		pids[id] = system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actors.Told:
				sum += m.Version
				delivered.Add(1)
			case *actors.Report:
				told := &actors.Told{Version: 1}
				for _, f := range friends {
					c.Send(pids[f], told)
				}
			}
		}))
	}
	report := &actors.Report{}
	var sent int64
	b.ResetTimer()
	m := measure()
	for b.Loop() {
		for range 1000 {
			for sent-delivered.Load() > 2048*benchFriends {
				time.Sleep(20 * time.Microsecond)
			}
			system.Root.Send(pids[r.IntN(benchUsers)], report)
			sent += benchFriends
		}
	}
	for delivered.Load() < sent {
		time.Sleep(20 * time.Microsecond)
	}
	m.report(b, float64(sent))
}

// measured is the time and the CPU time of this process, which other work on the
// machine does not change much.
type measured struct {
	start time.Time
	cpu   time.Duration
}

func measure() measured { return measured{time.Now(), cpuTime()} }

func (m measured) report(b *testing.B, deliveries float64) {
	b.ReportMetric(deliveries/time.Since(m.start).Seconds()/1e6, "Mdeliveries/s")
	b.ReportMetric(float64(cpuTime()-m.cpu)/deliveries, "cpu-ns/delivery")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
