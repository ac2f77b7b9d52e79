package storetest

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/store"
)

var counterTests = []test{
	{"OnlyRise", testRaise},
	{"AreApart", testCountersApart},
	{"RaisedTogether", testRaiseTogether},
}

func testRaise(t *testing.T, s *fixture) {
	for _, c := range []struct{ n, want uint64 }{{0, 0}, {5, 5}, {3, 5}, {0, 5}, {1 << 60, 1 << 60}, {math.MaxInt64, math.MaxInt64}, {1, math.MaxInt64}} {
		got, err := s.Raise(context.Background(), store.Sessions, c.n)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := s.Raise(context.Background(), store.Sessions, math.MaxInt64+1)
	require.Error(t, err)
}

func testCountersApart(t *testing.T, s *fixture) {
	_, err := s.Raise(context.Background(), store.Sessions, 70)
	require.NoError(t, err)
	// A name that a store may use for itself is just a name.
	for _, name := range []store.Counter{"rev", "log_floor", "other"} {
		got, err := s.Raise(context.Background(), name, 2)
		require.NoError(t, err)
		require.EqualValues(t, 2, got, name)
	}
	a, b := s.user(t), s.user(t)
	require.Less(t, s.do(t, store.Befriend, a.ID, b.ID).A.Rev, uint64(70))
}

func testRaiseTogether(t *testing.T, s *fixture) {
	var all sync.WaitGroup
	for i := range uint64(20) {
		all.Go(func() {
			got, err := s.Raise(context.Background(), store.Sessions, i)
			if err != nil || got < i {
				t.Errorf("raised to %d: %d, %v", i, got, err)
			}
		})
	}
	all.Wait()
	got, err := s.Raise(context.Background(), store.Sessions, 0)
	require.NoError(t, err)
	require.EqualValues(t, 19, got)
}
