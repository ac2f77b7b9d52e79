package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

func pairsOf(n int, pair func(i int) store.Pair) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		for i := range n {
			if !yield(pair(i), nil) {
				return
			}
		}
	}
}

func TestImportIsIdempotent(t *testing.T) {
	db := openNew(t, Options{})
	const n = 27_806 // the size of the data set that the demo imports
	pair := func(i int) store.Pair {
		return store.Pair{A: presence.PublicID(fmt.Sprint("u", i%4000)), B: presence.PublicID(fmt.Sprint("u", (i*7+i/4000+1)%4000))}
	}
	var progress []int
	start := time.Now()
	stats, err := db.ImportFriends(t.Context(), pairsOf(n, pair), 1, func(done int) { progress = append(progress, done) })
	require.NoError(t, err)
	t.Logf("%d pairs in %v", n, time.Since(start))
	require.Equal(t, n, stats.Pairs)
	require.Equal(t, 4000, stats.Users)
	require.Equal(t, n, stats.Friends+stats.Known+stats.Self)
	require.Equal(t, 2*stats.Friends, count(t, db, "SELECT count(*) FROM friendship"), "S2")
	require.Len(t, progress, 28)
	require.Equal(t, n, progress[27])
	again, err := db.ImportFriends(t.Context(), pairsOf(n, pair), 2, nil)
	require.NoError(t, err)
	require.Equal(t, store.ImportStats{Pairs: n, Self: stats.Self, Known: n - stats.Self}, again)
}

func TestImportCountsWhatItLeavesOut(t *testing.T) {
	db := openNew(t, Options{})
	a, _, err := db.Ensure(t.Context(), "ann", 1)
	require.NoError(t, err)
	b, _, err := db.Ensure(t.Context(), "bob", 1)
	require.NoError(t, err)
	_, err = db.Do(t.Context(), store.Block, b.ID, a.ID)
	require.NoError(t, err)
	fixed := []store.Pair{{A: "ann", B: "bob"}, {A: "ann", B: "ann"}, {A: "bob", B: "cyd"}, {A: "cyd", B: "bob"}}
	n := store.MaxFriends + 3
	stats, err := db.ImportFriends(t.Context(), pairsOf(len(fixed)+n, func(i int) store.Pair {
		if i < len(fixed) {
			return fixed[i]
		}
		return store.Pair{A: presence.PublicID(fmt.Sprint("u", i)), B: "hub"}
	}), 1, nil)
	require.NoError(t, err)
	require.Equal(t, store.ImportStats{
		Pairs: n + 4, Users: n + 2, Friends: store.MaxFriends + 1, Known: 1, Self: 1, TooMany: 3, Blocked: 1,
	}, stats)
	// Who was created by an import has a history like everybody else.
	cyd, err := db.User(t.Context(), "cyd")
	require.NoError(t, err)
	require.NoError(t, db.Append(t.Context(), []*presence.Batch{testBatch(cyd.ID, 1)}))
	require.Equal(t, 1, countRows(t, db, cyd.ID))
}

func TestImportEndsAtAnError(t *testing.T) {
	db := openNew(t, Options{})
	broken := errors.New("line 3 is no pair")
	stats, err := db.ImportFriends(t.Context(), func(yield func(store.Pair, error) bool) {
		_ = yield(store.Pair{A: "a", B: "b"}, nil) && yield(store.Pair{A: "a", B: "c"}, nil) && yield(store.Pair{}, broken)
	}, 1, nil)
	require.ErrorIs(t, err, broken)
	require.Equal(t, 2, stats.Friends, "what was read before is kept")
	_, err = db.ImportFriends(t.Context(), pairsOf(2, func(i int) store.Pair {
		return store.Pair{A: "a", B: []presence.PublicID{"d", "not an id"}[i]}
	}), 1, nil)
	require.ErrorIs(t, err, presence.ErrPublicID)
	require.ErrorContains(t, err, "pair 2")
	_, err = db.User(t.Context(), "d")
	require.ErrorIs(t, err, store.ErrNotFound, "a transaction of which a pair is wrong is undone")
}
