package e2e

import (
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

// window is how long the couple measures at a time.
const window = 3 * time.Second

// measure lets the couple move every 5 ms for a window, and returns the 99th
// percentile. A position that a newer one replaced before it was written is not
// seen and not counted; on a machine that is not overloaded that is none.
func (c *couple) measure() (p99 time.Duration) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	sent, began := 0, time.Now()
	for k := int64(0); time.Since(began) < window; k++ {
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
	require.Greater(c.moves.t, len(times), sent/3, "of %d fixes", sent)
	slices.Sort(times)
	return times[len(times)*99/100]
}

// unaffected compares the couple's latency with what it was in peace. Attackers,
// server and couple share the machine with whatever else runs there, so a few
// turns of the scheduler are allowed for, and a bad window is no proof: three in
// a row are.
func (c *couple) unaffected(t testing.TB, what string, peace time.Duration) {
	t.Helper()
	for try := 1; ; try++ {
		during := c.measure()
		t.Logf("p99 from a fix to its sight: %v in peace, %v while %s", peace, during, what)
		if during < 3*peace+50*time.Millisecond {
			return
		}
		require.Less(t, try, 3, "others suffer while %s", what)
	}
}
