package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// settled waits until the keeper has nothing to do.
func settled(t *testing.T, db *DB) {
	t.Helper()
	require.Eventually(t, func() bool {
		require.NoError(t, db.acquire(context.Background()))
		defer db.unlock()
		k := &db.keeper
		if db.history.freezing != nil || k.flush != nil || len(k.merges) > 0 || k.garbage {
			return false
		}
		for level := range db.levels() {
			if len(db.level(level)) >= db.o.fanIn {
				return false
			}
		}
		return true
	}, 20*time.Second, 5*time.Millisecond)
}

func count(t *testing.T, db *DB, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, db.read.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// fillRuns appends rows numbered from 1 on, of several users in turn.
func fillRuns(t *testing.T, db *DB, users, rows int) (ids []presence.UserID) {
	t.Helper()
	for i := range users {
		u, _, err := db.Ensure(t.Context(), presence.PublicID(fmt.Sprint("fill-", i)), 1)
		require.NoError(t, err)
		ids = append(ids, u.ID)
	}
	for n := 0; n < rows; n += 10 {
		var group []*presence.Batch
		for i := n; i < n+10; i++ {
			group = append(group, testBatch(ids[i%users], i+1))
		}
		require.NoError(t, db.Append(t.Context(), group))
	}
	return ids
}

func TestQ1_RowsAreInOnePlace(t *testing.T) {
	db := openNew(t, tiny)
	ids := fillRuns(t, db, 5, 1000)
	settled(t, db)
	require.Greater(t, db.levels(), 3, "runs were merged, and merged again")
	inRuns := count(t, db, "SELECT coalesce(sum(p.rows), 0) FROM pack p JOIN run r ON r.id = p.run")
	inLog := count(t, db, "SELECT coalesce(sum(rows), 0) FROM log")
	require.Equal(t, 1000, inRuns+inLog, "superseded runs and entries are deleted")
	require.Equal(t, inLog, db.history.active.n, "Q2")
	for _, id := range ids {
		require.Equal(t, 200, countRows(t, db, id))
	}
}

func TestQ3_MarksBoundEveryRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, tiny)
	ids := fillRuns(t, db, 5, 500)
	check := func(db *DB) {
		for _, id := range ids {
			page, err := db.Query(t.Context(), store.HistoryQuery{User: id, Limit: 1000})
			require.NoError(t, err)
			require.Len(t, page.Rows, 100)
			for _, row := range page.Rows {
				require.False(t, db.history.marks.raise(deviceHash(id, row.Device), row.Fix.Stamp()), "a stored row must not be taken for new")
			}
		}
	}
	settled(t, db)
	check(db)
	require.NoError(t, db.Close())
	check(openAt(t, path, tiny))
}

func TestQ4_PacksAreInOrder(t *testing.T) {
	db := openNew(t, tiny)
	fillRuns(t, db, 3, 600)
	settled(t, db)
	for _, r := range db.history.runs {
		c := packCursor{run: r.id}
		var last place
		for {
			rows, more, err := c.next(t.Context(), db.read)
			require.NoError(t, err)
			if !more {
				break
			}
			for i := range rows {
				require.Positive(t, rows[i].place().compare(last))
				require.True(t, r.span.holds(rows[i].fix.TS))
				last = rows[i].place()
			}
		}
	}
}

func TestQ5_ErasedWhileRunsAreWritten(t *testing.T) {
	for round := range 10 {
		db := openNew(t, tiny)
		ids := fillRuns(t, db, 4, 200+round*7)
		_, err := db.Erase(t.Context(), ids[1])
		require.NoError(t, err)
		require.NoError(t, db.EraseHistory(t.Context(), ids[1]))
		require.Zero(t, countOf(t, db, ids[1]))
		settled(t, db)
		require.Zero(t, countOf(t, db, ids[1]))
	}
}

// countOf counts the rows of a user in all that is stored, seen by queries or not.
func countOf(t *testing.T, db *DB, user presence.UserID) (n int) {
	t.Helper()
	tx, err := db.read.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	for _, q := range []string{"SELECT id, body FROM log", "SELECT id, body FROM pack"} {
		all, err := bodies(t.Context(), tx, q)
		require.NoError(t, err)
		for _, b := range all {
			rows, err := unpackAll(b.packed)
			require.NoError(t, err)
			for _, r := range rows {
				if r.user == user {
					n++
				}
			}
		}
	}
	return n
}

func TestS6_EraseIsFinishedAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, tiny)
	ids := fillRuns(t, db, 3, 300)
	require.NoError(t, db.change(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := eraseIdentity(ctx, tx, ids[0])
		db.history.forget(ids[0])
		return err
	})) // and here it crashes
	require.NotZero(t, countOf(t, db, ids[0]), "rows are still in the file")
	require.Zero(t, countRows(t, db, ids[0]), "and nobody sees them")
	require.NoError(t, db.Close())
	db = openAt(t, path, tiny)
	require.Zero(t, countRows(t, db, ids[0]), "nor after a restart")
	require.Eventually(t, func() bool { return count(t, db, "SELECT count(*) FROM erasing") == 0 }, 10*time.Second, time.Millisecond,
		"it is finished without being asked")
	require.Zero(t, countOf(t, db, ids[0]))
	require.Equal(t, 100, countRows(t, db, ids[1]))
}

// TestS6_NothingIsLeftInTheFiles looks for bytes of the erased user, whose name
// and position nobody else has.
func TestS6_NothingIsLeftInTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, tiny)
	name := presence.PublicID("the-name-to-look-for")
	u, _, err := db.Ensure(t.Context(), name, 1)
	require.NoError(t, err)
	for n := range 200 {
		b := testBatch(u.ID, n)
		b.Device = "the-device-to-look-for"
		require.NoError(t, db.Append(t.Context(), []*presence.Batch{b}))
	}
	secret := binary.LittleEndian.AppendUint32(nil, secretLat)
	found := func(what []byte) bool {
		for _, file := range []string{path, path + "-wal"} {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if bytes.Contains(text, what) {
				return true
			}
		}
		return false
	}
	for _, what := range [][]byte{[]byte(name), []byte("the-device-to-look-for"), secret} {
		require.True(t, found(what), "the search must find what is there")
	}
	settled(t, db)
	_, err = db.Erase(t.Context(), u.ID)
	require.NoError(t, err)
	require.NoError(t, db.EraseHistory(t.Context(), u.ID))
	for _, what := range [][]byte{[]byte(name), []byte("the-device-to-look-for"), secret} {
		require.False(t, found(what))
	}
}

func TestFullDiskIsSaidAndSurvived(t *testing.T) {
	db := openNew(t, tiny)
	ids := fillRuns(t, db, 2, 100)
	settled(t, db)
	pages := count(t, db, "PRAGMA page_count")
	limit := func(pages int) {
		require.NoError(t, db.acquire(t.Context()))
		defer db.unlock()
		var n int
		require.NoError(t, db.conn.QueryRowContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&n))
	}
	limit(pages)
	n := 100
	var err error
	for range 500 {
		if err = db.Append(t.Context(), []*presence.Batch{testBatch(ids[0], n+1)}); err != nil {
			break
		}
		n++
	}
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.ErrorIs(t, err, ErrFull)
	require.Equal(t, n-50, countRows(t, db, ids[0]), "what was acknowledged, and no more")
	limit(pages + 10_000)
	require.Eventually(t, func() bool {
		return db.Append(t.Context(), []*presence.Batch{testBatch(ids[0], n+1)}) == nil
	}, 10*time.Second, 50*time.Millisecond, "with space again it goes on by itself")
	require.NoError(t, db.Append(t.Context(), []*presence.Batch{testBatch(ids[0], n+1)}))
	require.Equal(t, n+1-50, countRows(t, db, ids[0]))
}

// TestS4_CommitInDoubt: an error of a commit does not say that it did not
// happen. Here it did.
func TestS4_CommitInDoubt(t *testing.T) {
	db := openNew(t, tiny)
	ids := fillRuns(t, db, 1, 10)
	var p packer
	for _, n := range []int{11, 12} {
		b := testBatch(ids[0], n)
		p.add(&row{user: b.User, device: b.Device, fix: b.Fixes[0]})
	}
	require.NoError(t, db.change(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO log (id, rows, min_ts, body) VALUES (?, 2, 0, ?)", db.history.nextLog, p.finish())
		db.history.unsure = true
		return err
	}))
	require.NoError(t, db.Append(t.Context(), []*presence.Batch{testBatch(ids[0], 11), testBatch(ids[0], 12), testBatch(ids[0], 13)}))
	require.Equal(t, 13, countRows(t, db, ids[0]))
}

// TestQ1_RunsThatWereNotFinishedAreDropped: after a crash in a flush or merge
// their rows are still where they came from.
func TestQ1_RunsThatWereNotFinishedAreDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, tiny)
	ids := fillRuns(t, db, 2, 200)
	settled(t, db)
	require.NoError(t, db.change(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for _, q := range []string{
			"INSERT INTO run (id, level, state, min_ts, max_ts) VALUES (9999, 1, 0, 0, 0)",
			`INSERT INTO pack (run, first_user, last_user, last_ts, min_ts, max_ts, rows, body)
				SELECT 9999, first_user, last_user, last_ts, min_ts, max_ts, rows, body FROM pack`,
		} {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, db.Close())
	db = openAt(t, path, tiny)
	settled(t, db)
	require.Zero(t, count(t, db, "SELECT count(*) FROM pack WHERE run = 9999"))
	require.Equal(t, 100, countRows(t, db, ids[0]))
}

func TestQueriesReadOnlyTheUsersPacks(t *testing.T) {
	db := openNew(t, Options{})
	for name, query := range map[string]string{"first": firstPack, "next": nextPack} {
		args := []any{1, 1, 1}
		if name == "next" {
			args = append(args, 1)
		}
		require.NoError(t, scanAll(t.Context(), db.read, func(rs *sql.Rows) error {
			var a, b, c int
			var plan string
			err := rs.Scan(&a, &b, &c, &plan)
			require.Contains(t, plan, "SEARCH pack USING INDEX pack_order (run=? AND ")
			return err
		}, "EXPLAIN QUERY PLAN "+query, args...))
	}
}

// TestS6_AnEraseThatIsCutGoesOn: the caller's time ends while others write, and
// nobody asks again.
func TestS6_AnEraseThatIsCutGoesOn(t *testing.T) {
	db := openNew(t, tiny)
	ids := fillRuns(t, db, 3, 300)
	settled(t, db)
	_, err := db.Erase(t.Context(), ids[0])
	require.NoError(t, err)
	require.NoError(t, db.acquire(t.Context())) // somebody writes for long
	require.Zero(t, countRows(t, db, ids[0]))
	cut, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, db.EraseHistory(cut, ids[0]), context.DeadlineExceeded)
	id, err := db.Erasing(t.Context(), "fill-0")
	require.NoError(t, err)
	require.Equal(t, ids[0], id)
	db.unlock()
	require.Eventually(t, func() bool {
		_, err := db.Erasing(t.Context(), "fill-0")
		return errors.Is(err, store.ErrNotFound)
	}, 10*time.Second, time.Millisecond)
	require.Zero(t, countOf(t, db, ids[0]))
	require.Equal(t, 100, countRows(t, db, ids[1]))
}

// TestS6_AnEraseThatFailsGoesOn: a fault of the file is said to who waits, and is
// over by itself.
func TestS6_AnEraseThatFailsGoesOn(t *testing.T) {
	db := openNew(t, tiny)
	ids := fillRuns(t, db, 3, 300)
	settled(t, db)
	must := func(query string) {
		require.NoError(t, db.change(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query)
			return err
		}))
	}
	must("CREATE TRIGGER fault BEFORE DELETE ON erasing BEGIN SELECT RAISE(ABORT, 'a fault'); END")
	_, err := db.Erase(t.Context(), ids[0])
	require.NoError(t, err)
	require.ErrorContains(t, db.EraseHistory(t.Context(), ids[0]), "a fault")
	must("DROP TRIGGER fault")
	require.Eventually(t, func() bool { return db.EraseHistory(t.Context(), ids[0]) == nil }, 10*time.Second, time.Millisecond)
	require.Zero(t, countOf(t, db, ids[0]))
}

// TestQ7_DisplacedRowsAreKnownAfterARestart: their keys do not say where they are.
func TestQ7_DisplacedRowsAreKnownAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, tiny)
	ids := fillRuns(t, db, 2, 20)
	send := func(db *DB, server presence.Millis) {
		for n := range 100 {
			b := testBatch(ids[0], n+1000)
			b.Fixes[0].Sent = b.Fixes[0].TS + 80_000
			b.Fixes[0].TS += server
			require.NoError(t, db.Append(t.Context(), []*presence.Batch{b}))
		}
	}
	send(db, 0)
	settled(t, db)
	require.NoError(t, db.Close())
	db = openAt(t, path, tiny)
	for _, server := range []presence.Millis{1, 5000, 80_000} {
		send(db, server)
		require.Equal(t, 110, countRows(t, db, ids[0]))
	}
	require.Equal(t, 100, count(t, db, "SELECT count(*) FROM displaced"))
	_, err := db.Prune(t.Context(), 1<<60, 1000)
	require.NoError(t, err)
	require.Zero(t, count(t, db, "SELECT count(*) FROM displaced"), "they go with their rows")
	send(db, 0)
	_, err = db.Erase(t.Context(), ids[0])
	require.NoError(t, err)
	require.NoError(t, db.EraseHistory(t.Context(), ids[0]))
	require.Zero(t, count(t, db, "SELECT count(*) FROM displaced"))
}

func TestCountersAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, Options{})
	_, err := db.Raise(t.Context(), store.Sessions, 12)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	got, err := openAt(t, path, Options{}).Raise(t.Context(), store.Sessions, 3)
	require.NoError(t, err)
	require.EqualValues(t, 12, got)
}
