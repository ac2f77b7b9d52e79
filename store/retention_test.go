package store

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// oldRows is a history of which n rows are too old.
type oldRows struct {
	mu     sync.Mutex
	n      int
	fail   bool
	before []presence.Millis
}

func (o *oldRows) Prune(_ context.Context, before presence.Millis, limit int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.before = append(o.before, before)
	if o.fail {
		return 0, errDown
	}
	n := min(o.n, limit)
	o.n -= n
	return n, nil
}

func (o *oldRows) left() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n
}

func (o *oldRows) asked() []presence.Millis {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.before
}

func (o *oldRows) set(n int, fail bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n, o.fail = n, fail
}

func TestRetentionPrunesInChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &oldRows{n: 25_000}
		c := DefaultRetentionConfig()
		c.Age = 24 * time.Hour
		before := presence.Millis(time.Now().Add(-c.Age).UnixMilli())
		r, err := StartRetention(h, c)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 15_000, h.left(), "then it pauses for commits")
		sleep(time.Second)
		require.Zero(t, h.left())
		require.Equal(t, []presence.Millis{before, before, before}, h.asked())
		h.set(0, true)
		sleep(time.Hour)
		require.Len(t, h.asked(), 4)
		h.set(5, false)
		sleep(time.Hour)
		require.Zero(t, h.left())
		pauses := presence.Millis(100)
		require.Equal(t, before+2*3_600_000+pauses, h.asked()[4])
		r.Close()
	})
}

func TestRetentionZeroKeepsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &oldRows{n: 10}
		r, err := StartRetention(h, DefaultRetentionConfig())
		require.NoError(t, err)
		sleep(48 * time.Hour)
		require.Empty(t, h.asked())
		r.Close()
	})
}

func TestRetentionConfigIsChecked(t *testing.T) {
	_, err := StartRetention(&oldRows{}, RetentionConfig{Age: -1})
	require.ErrorContains(t, err, "age")
	_, err = StartRetention(&oldRows{}, RetentionConfig{Age: 1})
	require.ErrorContains(t, err, "every")
	require.ErrorContains(t, err, "chunk")
}
