package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

func openErr(t *testing.T, path string) error {
	t.Helper()
	db, err := Open(t.Context(), path, Options{BusyTimeout: 10 * time.Millisecond})
	if err == nil {
		require.NoError(t, db.Close())
	}
	return err
}

func TestOpenSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	t.Run("in use", func(t *testing.T) {
		path := filepath.Join(dir, "used.db")
		openAt(t, path, Options{})
		err := openErr(t, path)
		require.ErrorIs(t, err, ErrLocked)
		require.ErrorContains(t, err, path)
	})
	t.Run("not a database", func(t *testing.T) {
		for name, text := range map[string]string{"short": "hi", "long": string(make([]byte, 10_000)) + "x"} {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			require.ErrorIs(t, openErr(t, path), ErrNotDB)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, text, string(after), "the file is left as it is")
		}
	})
	t.Run("newer", func(t *testing.T) {
		path := filepath.Join(dir, "newer.db")
		db := openAt(t, path, Options{})
		_, err := db.conn.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
		require.NoError(t, err)
		require.NoError(t, db.Close())
		require.ErrorIs(t, openErr(t, path), ErrNewer)
	})
	t.Run("no folder", func(t *testing.T) {
		require.ErrorIs(t, openErr(t, filepath.Join(dir, "none", "kith.db")), ErrAccess)
	})
	t.Run("a folder", func(t *testing.T) {
		require.Error(t, openErr(t, dir))
	})
	t.Run("no name", func(t *testing.T) {
		for _, name := range []string{"", "sqlite:", ":memory:", "sqlite::memory:"} {
			require.ErrorContains(t, openErr(t, name), "name a file")
		}
	})
	t.Run("wrong option", func(t *testing.T) {
		_, err := Open(t.Context(), filepath.Join(dir, "x.db"), Options{Synchronous: "OFF"})
		require.ErrorContains(t, err, "FULL or NORMAL")
	})
}

func TestOpenTakesAwkwardPaths(t *testing.T) {
	for _, name := range []string{"a b.db", "100%.db", "q?x=1.db", "#.db", "ü.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := openAt(t, "sqlite:"+path, Options{})
		_, _, err := db.Ensure(t.Context(), "ann", 1)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		require.FileExists(t, path)
	}
}

func TestReopenKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	db := openAt(t, path, tiny)
	a, _, err := db.Ensure(t.Context(), "ann", 1)
	require.NoError(t, err)
	b, _, err := db.Ensure(t.Context(), "bob", 1)
	require.NoError(t, err)
	out, err := db.Do(t.Context(), store.Befriend, a.ID, b.ID)
	require.NoError(t, err)
	n := 0
	for range 5 {
		for range 50 {
			n++
			require.NoError(t, db.Append(t.Context(), []*presence.Batch{testBatch(a.ID, n)}))
		}
		require.NoError(t, db.Close())
		db = openAt(t, path, tiny)
		require.Equal(t, n, countRows(t, db, a.ID))
		f, err := db.Friend(t.Context(), a.ID, b.ID)
		require.NoError(t, err)
		require.Equal(t, out.A, f)
		// All of it again adds nothing, whether it stands in the log, in runs or
		// was merged.
		for i := range n {
			require.NoError(t, db.Append(t.Context(), []*presence.Batch{testBatch(a.ID, i+1)}))
		}
		require.Equal(t, n, countRows(t, db, a.ID))
	}
}

// testBatch is the batch of one fix with number n.
func testBatch(user presence.UserID, n int) *presence.Batch {
	none := presence.Unset()
	return &presence.Batch{User: user, Device: "d", Fixes: []presence.Fix{{
		At: geo.Point{Lat: secretLat, Lng: int32(n)}, Seq: uint64(n), TS: presence.Millis(1_760_000_000_000 + n),
		Accuracy: none, Altitude: none, Speed: none, Heading: none, Battery: none,
	}}}
}

// secretLat is a latitude that can be looked for in files.
const secretLat = 0x2a5eb19d

func countRows(t *testing.T, db *DB, user presence.UserID) int {
	t.Helper()
	page, err := db.Query(context.Background(), store.HistoryQuery{User: user, Limit: store.MaxPage})
	require.NoError(t, err)
	require.Empty(t, page.Next)
	return len(page.Rows)
}
