package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
	"github.com/kith-nearby/kith/store/sqlite"
)

const (
	historyUsers = 50_000
	historyRound = 2 * time.Second
)

// preloaded is how many rows are in the database when the later of the two
// measurements begins.
var preloaded = fromEnv("KITH_BENCH_ROWS", 1_000_000, strconv.Atoi)

// fixStream makes single fixes of random users, as live ones come, in time
// order.
type fixStream struct {
	r     *rand.Rand
	users []presence.UserID
	seqs  []uint64
	now   presence.Millis
	n     int
}

func (f *fixStream) next() *presence.Batch {
	if f.n++; f.n%100 == 0 {
		f.now++
	}
	i := f.r.IntN(len(f.users))
	f.seqs[i]++
	at := geo.Point{Lat: 480_000_000 + f.r.Int32N(10_000_000), Lng: 110_000_000 + f.r.Int32N(10_000_000)}
	fix := presence.Fix{
		At: at, Seq: f.seqs[i], TS: f.now, Sent: f.now,
		Accuracy: 8, Altitude: presence.Unset(), Speed: 1.4, Heading: 90, Battery: 0.8,
	}
	return &presence.Batch{User: f.users[i], Device: "phone", Fixes: []presence.Fix{fix}, Received: presence.Micros(f.now * 1000)}
}

// fork returns another stream of the same users.
func (f *fixStream) fork() *fixStream {
	return &fixStream{r: rand.New(rand.NewPCG(7, 8)), users: f.users, seqs: make([]uint64, len(f.users)), now: f.now}
}

// openHistory makes a database with users.
func openHistory(b *testing.B, dir string) (*sqlite.DB, *fixStream) {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "history.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	pairs := func(yield func(store.Pair, error) bool) {
		for i := 1; i < historyUsers; i += 2 {
			if !yield(store.Pair{A: publicID(presence.UserID(i)), B: publicID(presence.UserID(i + 1))}, nil) {
				return
			}
		}
	}
	if _, err := db.ImportFriends(ctx, iter.Seq2[store.Pair, error](pairs), 1, nil); err != nil {
		b.Fatal(err)
	}
	f := &fixStream{r: rand.New(rand.NewPCG(5, 6)), seqs: make([]uint64, historyUsers), now: presence.Millis(time.Now().UnixMilli())}
	for i := range historyUsers {
		u, err := db.User(ctx, publicID(presence.UserID(i+1)))
		if err != nil {
			b.Fatal(err)
		}
		f.users = append(f.users, u.ID)
	}
	return db, f
}

// durables counts what a Writer made durable.
type durables struct{ rows, lost atomic.Int64 }

func (d *durables) Durable(b *presence.Batch) { d.rows.Add(int64(len(b.Fixes))) }
func (d *durables) Lost(*presence.Batch)      { d.lost.Add(1) }
func (d *durables) Recovered()                {}

// write lets a Writer with the node's settings take fixes for a time, or until
// so many rows, whichever is later, and returns what that took.
func (f *fixStream) write(b *testing.B, to store.Appender, d time.Duration, rows int) spent {
	var acks durables
	cfg := store.DefaultWriterConfig()
	w, err := store.NewWriter(to, &acks, cfg, nil)
	if err != nil {
		b.Fatal(err)
	}
	start, cpu, n := time.Now(), cpuTime(), 0
	for time.Since(start) < d || n < rows {
		for int64(n)-acks.rows.Load() > int64(cfg.QueueRows/4) {
			time.Sleep(time.Millisecond)
		}
		for range 1000 {
			w.Record(f.next())
		}
		n += 1000
	}
	if err := w.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	took := spent{fixes: n, wall: time.Since(start), cpu: cpuTime() - cpu}
	if acks.rows.Load() != int64(n) || acks.lost.Load() != 0 {
		b.Fatalf("%d of %d rows are durable, %d batches lost", acks.rows.Load(), n, acks.lost.Load())
	}
	return took
}

// appendFile is the floor: rows of 36 bytes, one write and one fsync a group.
type appendFile struct {
	*os.File
	buf []byte
}

// Append implements store.Appender.
func (a *appendFile) Append(_ context.Context, batches []*presence.Batch) error {
	a.buf = a.buf[:0]
	for _, b := range batches {
		for i := range b.Fixes {
			fix := &b.Fixes[i]
			a.buf = binary.LittleEndian.AppendUint64(a.buf, uint64(b.User))
			a.buf = binary.LittleEndian.AppendUint64(a.buf, uint64(fix.TS))
			a.buf = binary.LittleEndian.AppendUint64(a.buf, fix.Seq)
			a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(fix.At.Lat))
			a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(fix.At.Lng))
			a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(fix.Accuracy))
		}
	}
	if _, err := a.Write(a.buf); err != nil {
		return err
	}
	return a.Sync()
}

// BenchmarkHistory is single fixes through the history writer into SQLite, in an
// almost empty database and in one with many rows, beside a file that is only
// appended to. The same rows again must change nothing.
func BenchmarkHistory(b *testing.B) {
	dir := b.TempDir()
	db, f := openHistory(b, dir)
	file, err := os.Create(filepath.Join(dir, "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	floor := &appendFile{File: file}
	b.ResetTimer()
	g := f.fork()
	bare := g.write(b, floor, historyRound, 0)
	first := f.write(b, db, historyRound, 0)
	loaded := f.write(b, db, 0, max(0, preloaded-first.fixes))
	bareLater := g.write(b, floor, historyRound/2, 0)
	later := f.write(b, db, historyRound, 0)
	b.StopTimer()
	again(b, db, f)

	b.ReportMetric(0, "ns/op")
	b.ReportMetric(first.fixesPerS(), "rows/s")
	b.ReportMetric(later.fixesPerS(), "rows/s-preloaded")
	b.ReportMetric(bare.fixesPerS(), "floor-rows/s")
	b.ReportMetric(first.fixesPerS()/bare.fixesPerS(), "x-floor")
	b.ReportMetric(later.cpuPerFix(), "cpu-ns/row")
	noteHistory("history rows into SQLite, durable and idempotent", first, bare)
	noteHistory(fmt.Sprintf("the same with %.1f M rows there", float64(first.fixes+loaded.fixes)/1e6), later, bareLater)
}

func noteHistory(name string, ours, floor spent) {
	const goal = 100_000
	results.add(figure{
		Name: name, Unit: "rows/s", Value: ours.fixesPerS(), Peer: "file, fsync a group", Than: floor.fixesPerS(),
		Ratio: ours.fixesPerS() / floor.fixesPerS(), Goal: "≥ 100 000 rows/s", Met: ours.fixesPerS() >= goal,
	})
}

// again appends rows twice and fails if history has them twice.
func again(b *testing.B, db *sqlite.DB, f *fixStream) {
	ctx := context.Background()
	batch := f.next()
	count := func() int {
		page, err := db.Query(ctx, store.HistoryQuery{User: batch.User, Limit: store.MaxPage})
		if err != nil {
			b.Fatal(err)
		}
		return len(page.Rows)
	}
	before := count()
	for range 2 {
		if err := db.Append(ctx, []*presence.Batch{batch, batch}); err != nil {
			b.Fatal(err)
		}
	}
	if after := count(); after != before+1 || after != int(batch.LastSeq()) {
		b.Fatalf("%d rows before, %d after one more, and %d reports", before, after, batch.LastSeq())
	}
}
