package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killRounds is how often a node is killed: KITH_KILL_ROUNDS, or 200, which take
// under a minute, or with KITH_SOAK 2 000.
func killRounds(t testing.TB) int {
	if v := os.Getenv("KITH_KILL_ROUNDS"); v != "" {
		n, err := strconv.Atoi(v)
		require.NoError(t, err)
		return n
	}
	if soaking() {
		return 2000
	}
	return 200
}

// TestSoak_E2_KillsLoseNothingAcknowledged kills the node at a random moment, of
// its start too, again and again, while clients go on reporting.
func TestSoak_E2_KillsLoseNothingAcknowledged(t *testing.T) {
	long(t)
	s := serve(t, "presence.offline_grace=1s")
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	c := newCrew(t, s, 4, 4*time.Millisecond)
	rounds, began := killRounds(t), time.Now()
	for range rounds {
		// From the moment of the start: some kills hit the node before it serves.
		wait(time.Duration(random.Int64N(int64(450 * time.Millisecond))))
		require.True(t, s.kill(), "the node ended by itself: %s", s.log)
		s.launch()
	}
	c.finish(t)
	rows, connects := 0, 0
	for _, r := range c.all {
		rows += r.verify(t, s)
		connects += r.connects
	}
	require.Greater(t, connects, rounds, "clients got in between the kills")
	t.Logf("%d kills in %.0f s (seed %d): %d connections, %d fixes acknowledged, %d in history", rounds, time.Since(began).Seconds(), seed, connects, c.acked(), rows)
	require.Equal(t, c.acked(), rows)
}

func TestE2_AGracefulStopLosesNothing(t *testing.T) {
	long(t)
	const most = 6 * time.Second
	s := serve(t, "node.drain_within="+most.String())
	c := newCrew(t, s, 5, 5*time.Millisecond)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		before := c.acked()
		require.Eventually(t, func() bool { return c.acked() > before+200 }, patience, 10*time.Millisecond)
		began := time.Now()
		s.signal(sig)
		require.Equal(t, 0, s.exit(most), "%s", s.log)
		t.Logf("%v: ended after %v", sig, time.Since(began).Round(time.Millisecond))
		acked := c.acked()
		s.start()
		for _, r := range c.all {
			r.verify(t, s) // at any time, acks are never ahead of history
		}
		require.GreaterOrEqual(t, c.acked(), acked)
	}
	c.finish(t)
	for _, r := range c.all {
		r.mu.Lock()
		n := len(r.acked)
		r.mu.Unlock()
		require.Equal(t, n, r.verify(t, s))
	}
}
