package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kith-nearby/kith/store"
	"github.com/kith-nearby/kith/store/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// tiny makes every threshold so low that a few rows pass all of them: runs are
// written and merged all the time. A kill of the process loses nothing with
// NORMAL either, only a loss of power could.
var tiny = Options{Synchronous: "NORMAL", RecentRows: 16, packRows: 4, stepRows: 8, fanIn: 2, markParts: 1, Readers: 2, CacheBytes: 1 << 20}

func openAt(t *testing.T, path string, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func openNew(t *testing.T, o Options) *DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "kith.db"), o)
}

func TestContract(t *testing.T) {
	t.Run("default", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return openNew(t, Options{}) })
	})
	t.Run("tiny", func(t *testing.T) {
		storetest.RunHistory(t, func(t *testing.T) store.Store { return openNew(t, tiny) })
	})
}
