package sqlite

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkAppendWhilePruning appends at a steady pace while old rows are pruned
// in chunks, and reports the slowest Append.
func BenchmarkAppendWhilePruning(b *testing.B) {
	rows := 500_000
	if n, err := strconv.Atoi(os.Getenv(envPreload)); err == nil {
		rows = n
	}
	db := benchOpen(b)
	populate(b, db, benchUsers)
	l := newLoad(benchUsers)
	for n := 0; n < rows; n += 10_000 {
		require.NoError(b, db.Append(context.Background(), l.group(10_000)))
	}
	before := l.ts - 1000
	var pruner sync.WaitGroup
	pruned := 0
	done := make(chan struct{})
	pruner.Go(func() {
		defer close(done)
		for {
			n, err := db.Prune(context.Background(), before, 10_000)
			if err != nil {
				b.Error(err)
			}
			pruned += n
			if n < 10_000 {
				return
			}
		}
	})
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		require.NoError(b, db.Append(context.Background(), l.group(500)))
		took = append(took, time.Since(start))
		select {
		case <-done:
		case <-time.After(10 * time.Millisecond):
		}
	}
	pruner.Wait()
	slowest := took[0]
	for _, d := range took {
		slowest = max(slowest, d)
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
	b.ReportMetric(float64(pruned), "pruned")
}
