package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// load makes groups of one-fix batches of random users, as the history writer
// does. Time goes on; each fix is up to 200 ms late.
type load struct {
	random *rand.Rand
	seqs   []uint64
	ts     presence.Millis
}

func newLoad(users int) *load {
	return &load{random: rand.New(rand.NewPCG(1, 2)), seqs: make([]uint64, users), ts: 1_760_000_000_000}
}

func (l *load) group(rows int) []*presence.Batch {
	group := make([]*presence.Batch, rows)
	for i := range group {
		u := l.random.IntN(len(l.seqs))
		l.seqs[u]++
		group[i] = &presence.Batch{
			User: presence.UserID(u + 1), Device: "default",
			Fixes: []presence.Fix{{
				At:  geo.Point{Lat: l.random.Int32N(900_000_000), Lng: l.random.Int32N(1_800_000_000)},
				Seq: l.seqs[u], TS: l.ts - presence.Millis(l.random.IntN(200)), Sent: l.ts,
				Accuracy: 12, Altitude: presence.Unset(), Speed: 1.4, Heading: 270, Battery: 0.8,
			}},
		}
		if i%50 == 0 {
			l.ts++
		}
	}
	return group
}

// populate creates users 1 to n.
func populate(tb testing.TB, db *DB, n int) {
	tb.Helper()
	for first := 0; first < n; first += 10_000 {
		require.NoError(tb, db.change(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
			insert, err := tx.PrepareContext(ctx, "INSERT INTO user (public, created) VALUES (?, 1)")
			if err != nil {
				return err
			}
			defer func() { _ = insert.Close() }()
			for i := first; i < min(n, first+10_000); i++ {
				if _, err := insert.ExecContext(ctx, fmt.Sprint("u", i)); err != nil {
					return err
				}
				db.history.exists(presence.UserID(i + 1))
			}
			return nil
		}))
	}
}

func benchOpen(b *testing.B) *DB {
	b.Helper()
	db, err := Open(context.Background(), filepath.Join(b.TempDir(), "kith.db"), Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return db
}

// envPreload is how many rows BenchmarkHistoryAppendPreloaded puts in first.
const (
	envPreload   = "KITH_BENCH_PRELOAD"
	benchUsers   = 100_000
	preloadUsers = 1_000_000
)

// BenchmarkHistoryAppend commits groups of random users. One op is one group,
// the making of it included, and so it is in BenchmarkFloorFile.
func BenchmarkHistoryAppend(b *testing.B) {
	for _, rows := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(rows), func(b *testing.B) {
			db := benchOpen(b)
			populate(b, db, benchUsers)
			appendGroups(b, db, newLoad(benchUsers), rows)
		})
	}
}

// BenchmarkHistoryAppendPreloaded does so with 1 000 000 users and as many rows
// before as the environment says; without it there is nothing to do.
func BenchmarkHistoryAppendPreloaded(b *testing.B) {
	preload, err := strconv.Atoi(os.Getenv(envPreload))
	if err != nil {
		b.Skip("set " + envPreload + " to a number of rows")
	}
	db := benchOpen(b)
	populate(b, db, preloadUsers)
	l := newLoad(preloadUsers)
	for n := 0; n < preload; n += 10_000 {
		require.NoError(b, db.Append(context.Background(), l.group(10_000)))
	}
	b.Run("1000", func(b *testing.B) { appendGroups(b, db, l, 1000) })
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			_, err := db.Query(context.Background(), store.HistoryQuery{User: presence.UserID(l.random.IntN(preloadUsers) + 1), Limit: 1000})
			require.NoError(b, err)
		}
	})
}

func appendGroups(b *testing.B, db *DB, l *load, rows int) {
	n := 0
	for b.Loop() {
		require.NoError(b, db.Append(context.Background(), l.group(rows)))
		n += rows
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkFloorFile appends the same rows, packed the same way, to a plain file
// and waits for the disk after each group: what no store can be faster than.
func BenchmarkFloorFile(b *testing.B) {
	for _, rows := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(rows), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
			require.NoError(b, err)
			defer func() { _ = f.Close() }()
			l := newLoad(benchUsers)
			n := 0
			var p packer
			for b.Loop() {
				for _, batch := range l.group(rows) {
					p.add(&row{user: batch.User, device: batch.Device, fix: batch.Fixes[0]})
				}
				_, err := f.Write(p.finish())
				require.NoError(b, err)
				require.NoError(b, f.Sync())
				n += rows
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
