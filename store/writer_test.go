package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/kith-nearby/kith/presence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("down")

// table is a history that can be away or slow.
type table struct {
	mu     sync.Mutex
	down   bool
	takes  time.Duration // time of an Append
	groups [][]*presence.Batch
	tries  []time.Time
}

func (a *table) Append(ctx context.Context, batches []*presence.Batch) error {
	a.mu.Lock()
	a.tries = append(a.tries, time.Now())
	down, takes := a.down, a.takes
	a.mu.Unlock()
	if takes > 0 && !pause(ctx, takes) {
		return ctx.Err()
	}
	if down {
		return errDown
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups = append(a.groups, batches)
	return nil
}

func (a *table) set(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

func (a *table) tried() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tries
}

func (a *table) rows() (rows []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.groups {
		rows = append(rows, totalRows(g))
	}
	return rows
}

// heard is what became of batches.
type heard struct {
	durable   []*presence.Batch
	lost      []*presence.Batch
	recovered int
}

// ackList notes what it hears.
type ackList struct {
	mu  sync.Mutex
	all heard
}

func (a *ackList) note(do func(h *heard)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do(&a.all)
}

func (a *ackList) Durable(b *presence.Batch) {
	a.note(func(h *heard) { h.durable = append(h.durable, b) })
}

func (a *ackList) Lost(b *presence.Batch) {
	a.note(func(h *heard) { h.lost = append(h.lost, b) })
}

func (a *ackList) Recovered() { a.note(func(h *heard) { h.recovered++ }) }

func (a *ackList) heard() (all heard) {
	a.note(func(h *heard) { all = *h })
	return all
}

// sleep lets time go on in a bubble, and then everything that is due happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func batchOf(rows int) *presence.Batch {
	return &presence.Batch{User: 1, Device: "d", Fixes: make([]presence.Fix, rows)}
}

func startWriter(t require.TestingT, to Appender, acks Acker, change func(c *WriterConfig)) *Writer {
	c := DefaultWriterConfig()
	c.Jitter = func() float64 { return 1 }
	if change != nil {
		change(&c)
	}
	w, err := NewWriter(to, acks, c, nil)
	require.NoError(t, err)
	return w
}

func TestWriterCommitsAfterGroupWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{}, &ackList{}
		w := startWriter(t, to, acks, nil)
		start := time.Now()
		w.Record(batchOf(1))
		sleep(20 * time.Millisecond)
		w.Record(batchOf(2))
		age, rows := w.Lag()
		require.Equal(t, 20*time.Millisecond, age)
		require.Equal(t, 3, rows)
		synctest.Wait()
		require.Empty(t, to.rows())
		sleep(30 * time.Millisecond)
		require.Equal(t, []int{3}, to.rows(), "one group")
		require.Equal(t, start.Add(50*time.Millisecond), to.tried()[0])
		age, rows = w.Lag()
		require.Zero(t, age)
		require.Zero(t, rows)
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestWriterCommitsAtGroupRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{}, &ackList{}
		w := startWriter(t, to, acks, nil)
		start := time.Now()
		for range 999 {
			w.Record(batchOf(1))
		}
		synctest.Wait()
		require.Empty(t, to.rows())
		w.Record(batchOf(1))
		synctest.Wait()
		require.Equal(t, []int{1000}, to.rows())
		require.Equal(t, start, to.tried()[0], "without waiting")
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestWriterNeverSplitsABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{takes: time.Second}, &ackList{}
		w := startWriter(t, to, acks, nil)
		w.Record(batchOf(1000))
		synctest.Wait()
		// These wait for the first; the backlog goes in groups of at most 10 000.
		for _, n := range []int{6000, 4000, 1, 30_000, 9999} {
			w.Record(batchOf(n))
		}
		sleep(time.Minute)
		require.Equal(t, []int{1000, 10_000, 1, 30_000, 9999}, to.rows())
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestWriterRetriesForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{down: true}, &ackList{}
		w := startWriter(t, to, acks, nil)
		w.Record(batchOf(1))
		sleep(time.Hour)
		require.Empty(t, acks.heard().durable)
		var waits []time.Duration
		for i := 1; i < 10; i++ {
			waits = append(waits, to.tried()[i].Sub(to.tried()[i-1]))
		}
		require.Equal(t, []time.Duration{
			100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
			1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, 10 * time.Second, 10 * time.Second,
		}, waits)
		age, rows := w.Lag()
		require.Equal(t, time.Hour, age)
		require.Equal(t, 1, rows)
		to.set(false)
		sleep(10 * time.Second)
		require.Len(t, acks.heard().durable, 1)
		require.Zero(t, acks.heard().recovered, "nothing was lost")
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestWriterDropsWhatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{down: true}, &ackList{}
		reg := prometheus.NewRegistry()
		c := DefaultWriterConfig()
		c.QueueRows, c.BacklogRows, c.GroupRows = 100, 10, 10
		w, err := NewWriter(to, acks, c, reg)
		require.NoError(t, err)
		for range 11 {
			w.Record(batchOf(10))
		}
		require.Len(t, acks.heard().lost, 1)
		_, rows := w.Lag()
		require.Equal(t, 100, rows)
		require.InDelta(t, 10, gathered(t, reg, "kith_history_dropped_rows_total"), 0)
		require.InDelta(t, 100, gathered(t, reg, "kith_history_queued_rows"), 0)
		sleep(time.Minute)
		require.Zero(t, acks.heard().recovered)
		require.Positive(t, gathered(t, reg, "kith_history_commit_failures_total"))
		require.Greater(t, gathered(t, reg, "kith_history_lag_seconds"), 59.0)
		to.set(false)
		sleep(time.Minute)
		require.Len(t, acks.heard().durable, 10)
		require.Equal(t, 1, acks.heard().recovered)
		require.InDelta(t, 100, gathered(t, reg, "kith_history_committed_rows_total"), 0)
		w.Record(batchOf(10))
		sleep(time.Minute)
		require.Equal(t, 1, acks.heard().recovered, "once")
		require.NoError(t, w.Close(t.Context()))
		left, err := reg.Gather()
		require.NoError(t, err)
		require.Empty(t, left, "a closed Writer shows nothing")
	})
}

func gathered(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	all, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range all {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestWriterCallsBackWhenOverloadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{takes: time.Second}, &ackList{}
		w := startWriter(t, to, acks, func(c *WriterConfig) { c.QueueRows, c.BacklogRows, c.GroupRows = 100, 10, 10 })
		for range 11 {
			w.Record(batchOf(10))
		}
		require.Len(t, acks.heard().lost, 1)
		sleep(4500 * time.Millisecond)
		require.Zero(t, acks.heard().recovered, "the queue is still more than half full")
		sleep(time.Second)
		require.Equal(t, 1, acks.heard().recovered)
		require.NoError(t, w.Close(t.Context()))
	})
}

// slowLost takes its time over Lost, as a goroutine that is put aside would.
type slowLost struct {
	ackList
	heardAt []string
}

func (a *slowLost) Lost(b *presence.Batch) {
	pause(context.Background(), 10*time.Second)
	a.note(func(*heard) { a.heardAt = append(a.heardAt, "lost") })
	a.ackList.Lost(b)
}

func (a *slowLost) Recovered() {
	a.note(func(*heard) { a.heardAt = append(a.heardAt, "recovered") })
	a.ackList.Recovered()
}

// TestWriterCallsBackAfterEveryLoss: a loss that is told after the recovery would
// leave its connection without an ack for ever.
func TestWriterCallsBackAfterEveryLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{takes: time.Second}, &slowLost{}
		w := startWriter(t, to, acks, func(c *WriterConfig) { c.QueueRows, c.BacklogRows, c.GroupRows = 20, 10, 10 })
		w.Record(batchOf(10))
		w.Record(batchOf(10))
		for range 3 {
			go w.Record(batchOf(10))
		}
		sleep(9 * time.Second)
		require.Zero(t, acks.heard().recovered, "three are still being told")
		sleep(2 * time.Second)
		acks.note(func(*heard) { require.Equal(t, []string{"lost", "lost", "lost", "recovered"}, acks.heardAt) })
		require.Len(t, acks.heard().durable, 2)
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestWriterCloseFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{takes: time.Second}, &ackList{}
		w := startWriter(t, to, acks, nil)
		for range 3 {
			w.Record(batchOf(10_000))
		}
		w.Record(batchOf(1))
		require.NoError(t, w.Close(t.Context()))
		require.Len(t, acks.heard().durable, 4)
		w.Record(batchOf(1))
		require.Len(t, acks.heard().lost, 1, "a closed Writer takes nothing")
	})
}

func TestWriterCloseSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, acks := &table{down: true}, &ackList{}
		w := startWriter(t, to, acks, nil)
		for range 3 {
			w.Record(batchOf(7))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		err := w.Close(ctx)
		require.Equal(t, 5*time.Second, time.Since(start))
		require.ErrorIs(t, err, ErrRowsLeft)
		require.ErrorContains(t, err, "21 history rows")
		require.Len(t, acks.heard().lost, 3)
	})
}

// TestWriterKeepsOrder: for each connection the batches that become durable are
// those recorded and not lost, in their order, whatever fails in between.
func TestWriterKeepsOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 200).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			to, acks := &table{takes: 3 * time.Millisecond}, &ackList{}
			w := startWriter(t, to, acks, func(c *WriterConfig) { c.QueueRows, c.BacklogRows, c.GroupRows = 60, 20, 5 })
			var sent []*presence.Batch
			for i, step := range steps {
				switch step {
				case 0:
					to.set(true)
				case 1, 2:
					to.set(false)
				case 3:
					sleep(70 * time.Millisecond)
				default:
					b := batchOf(step)
					b.Conn = presence.ConnID(step % 3)
					b.Received = presence.Micros(i)
					sent = append(sent, b)
					w.Record(b)
				}
			}
			to.set(false)
			require.NoError(t, w.Close(context.Background()))
			lost := map[*presence.Batch]bool{}
			for _, b := range acks.heard().lost {
				lost[b] = true
			}
			var want []*presence.Batch
			for _, b := range sent {
				if !lost[b] {
					want = append(want, b)
				}
			}
			require.Equal(t, want, acks.heard().durable)
		})
	})
}

func TestWriterConfigIsChecked(t *testing.T) {
	good := DefaultWriterConfig()
	require.NoError(t, good.Validate())
	err := (&WriterConfig{}).Validate()
	for _, what := range []string{"group rows", "group wait", "retry"} {
		require.ErrorContains(t, err, what)
	}
	_, err = NewWriter(&table{}, &ackList{}, WriterConfig{}, nil)
	require.Error(t, err)
}

func TestWriterMetricsAreRegisteredOnce(t *testing.T) {
	reg := prometheus.NewRegistry()
	w, err := NewWriter(&table{}, &ackList{}, DefaultWriterConfig(), reg)
	require.NoError(t, err)
	_, err = NewWriter(&table{}, &ackList{}, DefaultWriterConfig(), reg)
	require.Error(t, err)
	require.NoError(t, w.Close(t.Context()))
	w, err = NewWriter(&table{}, &ackList{}, DefaultWriterConfig(), reg)
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
}
