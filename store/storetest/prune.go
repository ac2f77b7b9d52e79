package storetest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

var pruneTests = []test{
	{"RemovesWhatIsOlderInChunks", testPrune},
	{"WhatIsPrunedCanBeAppendedAgain", testPruneAgain},
	{"NothingToPrune", testPruneNothing},
}

func testPrune(t *testing.T, s *fixture) {
	ctx := context.Background()
	var users []store.User
	var want [][]store.HistoryRow
	for range 5 {
		u := s.user(t)
		users, want = append(users, u), append(want, s.fill(t, u.ID, "d", 40))
	}
	before := now + 25_000 // 25 rows of each are older
	total := 0
	for range 100 {
		n, err := s.Prune(ctx, before, 30)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 30)
		total += n
		left := 0
		for i, u := range users {
			rows := s.all(t, store.HistoryQuery{User: u.ID})
			left += len(rows)
			requireRows(t, want[i][25:], rows[len(rows)-15:])
		}
		require.Equal(t, 200, left+total, "it removes what it counts")
		if n < 30 {
			break
		}
	}
	require.Equal(t, 125, total)
}

func testPruneAgain(t *testing.T, s *fixture) {
	ctx := context.Background()
	u := s.user(t)
	rows := s.fill(t, u.ID, "d", 10)
	n, err := s.Prune(ctx, now+5000, 100)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	requireRows(t, rows[5:], s.all(t, store.HistoryQuery{User: u.ID}))
	for range 2 {
		s.fill(t, u.ID, "d", 10)
		requireRows(t, rows, s.all(t, store.HistoryQuery{User: u.ID}))
	}
}

func testPruneNothing(t *testing.T, s *fixture) {
	ctx := context.Background()
	u := s.user(t)
	s.fill(t, u.ID, "d", 10)
	for _, c := range []struct {
		before presence.Millis
		limit  int
	}{{now, 100}, {math.MinInt64, 100}, {math.MaxInt64, 0}, {0, 100}} {
		n, err := s.Prune(ctx, c.before, c.limit)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	require.Len(t, s.all(t, store.HistoryQuery{User: u.ID}), 10)
}
