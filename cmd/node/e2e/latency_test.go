package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// couple is two friends near each other: one moves, the other watches. It
// measures from the fix to its sight, while others misbehave.
type couple struct {
	moves, sees *peer

	mu    sync.Mutex
	sent  map[int64]time.Time // by position, in 1e-7 degrees
	times []time.Duration
}

func newCouple(s *server, name string) *couple {
	a, b := name+"1", name+"2"
	s.befriend(a, b)
	c := &couple{moves: s.connect(a, ""), sees: s.connect(b, ""), sent: map[int64]time.Time{}}
	c.sees.at(lat0, lng0)
	c.moves.at(lat0, lng0)
	c.sees.sees(a)
	c.sees.mu.Lock()
	defer c.sees.mu.Unlock()
	c.sees.on = func(f frame) {
		now := time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range f.Near {
			key := int64(n.Lng*1e7 + 0.5)
			if began, ok := c.sent[key]; ok {
				c.times = append(c.times, now.Sub(began))
				delete(c.sent, key)
			}
		}
	}
	return c
}

// measure lets the couple move every 5 ms until ctx ends, and returns the
// median and the 99th percentile. All that was sent was seen: a position that a
// newer one replaced before it was written counts as unseen, so the pace is
// slow enough for that not to happen.
func (c *couple) measure(ctx context.Context) (p50, p99 time.Duration) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	sent := 0
	for k := int64(0); ctx.Err() == nil; k++ {
		key := int64(lng0*1e7) + 1 + k%5000
		c.mu.Lock()
		c.sent[key] = time.Now()
		c.mu.Unlock()
		c.moves.fix(lat0, float64(key)/1e7)
		sent++
		<-tick.C
		c.moves.taken()
		c.sees.taken()
	}
	c.moves.acked(c.moves.lastFix)
	c.mu.Lock()
	defer c.mu.Unlock()
	times := c.times
	c.times, c.sent = nil, map[int64]time.Time{}
	require.Greater(c.moves.t, len(times), sent*9/10, "of %d fixes", sent)
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100]
}

// unaffected compares the couple's latency with what it was in peace. The
// machine is shared by attackers, server and couple, so it allows for a few
// turns of the scheduler.
func unaffected(t testing.TB, what string, peace, during time.Duration) {
	t.Helper()
	t.Logf("p99 from a fix to its sight: %v in peace, %v while %s", peace, during, what)
	require.Less(t, during, 3*peace+100*time.Millisecond, fmt.Sprintf("while %s", what))
}

// forA measures for a while.
func (c *couple) forA(d time.Duration) (p50, p99 time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return c.measure(ctx)
}
