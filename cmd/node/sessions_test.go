package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/store"
)

func TestSessions_RiseWhateverTheClockDoes(t *testing.T) {
	var s sessions
	at := time.UnixMicro(1_000_000)
	require.EqualValues(t, 1_000_000, s.next(at))
	require.EqualValues(t, 1_000_001, s.next(at))
	require.EqualValues(t, 1_000_002, s.next(at.Add(-time.Hour)), "set back")
	require.EqualValues(t, 2_000_000, s.next(at.Add(time.Second)))
	require.EqualValues(t, 2_000_001, s.next(time.UnixMicro(-5)))
}

// kept is the counter of sessions as a store keeps it.
type kept struct {
	mu     sync.Mutex
	n      uint64
	down   bool
	writes int
}

func (k *kept) Raise(_ context.Context, _ store.Counter, n uint64) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down {
		return 0, errors.New("down")
	}
	k.writes++
	k.n = max(k.n, n)
	return k.n, nil
}

func (k *kept) set(down bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = down
}

func (k *kept) bound() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.n
}

// clock is time that can be set.
type clock struct{ off time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(c.off) }

// TestSessions_RiseOverARestartWhateverTheClockDoes gives numbers for hours, with
// leaps of the clock, and starts anew with the clock set back a day, each time as
// if the process had been killed: only the store remembers.
func TestSessions_RiseOverARestartWhateverTheClockDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := &clock{}, &kept{}
		last := uint64(0)
		for _, leap := range []time.Duration{0, -24 * time.Hour, 3 * time.Hour, -48 * time.Hour, -time.Second} {
			c.off += leap
			s, err := openSessions(t.Context(), k, c.now, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			for i := range 2000 {
				if i == 1000 {
					c.off += time.Hour // a leap while it runs
				}
				n := uint64(s.next(c.now()))
				require.Greater(t, n, last)
				last = n
				time.Sleep(5 * time.Second)
				synctest.Wait()
				require.LessOrEqual(t, last, k.bound(), "what was given is below what is stored")
			}
			s.close()
		}
		require.Less(t, k.writes, 5*2000*5/20+20, "not a write each")
	})
}

func TestSessions_GoOnWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := &clock{}, &kept{}
		s, err := openSessions(t.Context(), k, c.now, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer s.close()
		k.set(true)
		time.Sleep(time.Hour)
		n := uint64(s.next(c.now()))
		require.Greater(t, n, k.bound(), "logins of users who are known need no store")
		k.set(false)
		time.Sleep(2 * sessionsAgain)
		require.GreaterOrEqual(t, k.bound(), n)
	})
	_, err := openSessions(t.Context(), &kept{down: true}, time.Now, slog.New(slog.DiscardHandler))
	require.Error(t, err, "a node that cannot read the bound does not start")
}
