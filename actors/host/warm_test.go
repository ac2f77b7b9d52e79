package host

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
)

// warmCore counts what the host reads ahead for it, without any lock: under the
// race detector this shows that only its shard does.
type warmCore struct {
	toyCore
	warmed  int
	stopped bool
	panics  bool
}

func (c *warmCore) Warm(int, actors.Message) uint64 {
	if c.panics {
		panic("warm")
	}
	if c.stopped {
		c.warmed = -1 << 30 // A1: a Core that is gone is left alone
	}
	c.warmed++
	return 1
}

// TestH1_ReadingAheadIsTheShards: the host reads ahead for the users whose turn
// comes, in their own shard, and all goes on if that panics.
func TestH1_ReadingAheadIsTheShards(t *testing.T) {
	for _, panics := range []bool{false, true} {
		cores := map[uint64]*warmCore{}
		cfg := testConfig()
		cfg.Shards = 1
		stepped := 0
		h := newHost(t, cfg, &fakePorts{}, map[actors.Kind]Factory{actors.UserKind: func(id uint64, _ time.Time) actors.Core {
			c := &warmCore{toyCore: toyCore{id: id}, panics: panics}
			c.step = func(_ time.Time, m actors.Message, out *actors.Outbox) {
				stepped++
				if s, ok := m.(*script); ok {
					s.do(&c.toyCore, time.Time{}, out)
				}
			}
			cores[id] = c
			return c
		}})
		for id := range uint64(50) {
			h.Start(user(id), nothing())
		}
		h.Send(user(1), do(func(_ *toyCore, _ time.Time, out *actors.Outbox) {
			for range 4 {
				for id := range uint64(50) {
					out.Send(user(id), nothing())
				}
			}
		}))
		require.NoError(t, h.Quiesce(context.Background()))
		closeHost(t, h)
		require.Equal(t, 50+1+200, stepped)
		warmed := 0
		for _, c := range cores {
			require.GreaterOrEqual(t, c.warmed, 0)
			warmed += c.warmed
		}
		require.Equal(t, !panics, warmed > 100, "read ahead %d times", warmed)
	}
}
