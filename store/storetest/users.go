package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

var userTests = []test{
	{"S1_IDsAreNeverGivenTwice", testIDs},
	{"EnsureCreatesOnce", testEnsure},
	{"EnsureTakesAwkwardNames", testNames},
	{"EnsureAtTheSameTimeCreatesOne", testEnsureTogether},
	{"S3_SetAllRaisesAllRev", testSetAll},
	{"UnknownUsersAreNotFound", testUnknown},
}

func testIDs(t *testing.T, s *fixture) {
	ctx := context.Background()
	var last presence.UserID
	for range 5 {
		u := s.user(t)
		require.Greater(t, u.ID, last)
		last = u.ID
		_, err := s.Erase(ctx, u.ID)
		require.NoError(t, err)
		again, created, err := s.Ensure(ctx, u.Public, now)
		require.NoError(t, err)
		require.True(t, created)
		require.Greater(t, again.ID, last, "the same name after an erase is another user")
		last = again.ID
	}
}

func testEnsure(t *testing.T, s *fixture) {
	ctx := context.Background()
	u, created, err := s.Ensure(ctx, "ann", now)
	require.NoError(t, err)
	require.True(t, created)
	require.NotZero(t, u.ID)
	require.Equal(t, store.User{ID: u.ID, Public: "ann", Created: now}, u)
	again, created, err := s.Ensure(ctx, "ann", now+5)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, u, again)
	other, created, err := s.Ensure(ctx, "Ann", now)
	require.NoError(t, err)
	require.True(t, created, "ids tell upper from lower case")
	require.NotEqual(t, u.ID, other.ID)
	for _, get := range []func() (store.User, error){
		func() (store.User, error) { return s.User(ctx, "ann") },
		func() (store.User, error) { return s.UserByID(ctx, u.ID) },
	} {
		got, err := get()
		require.NoError(t, err)
		require.Equal(t, u, got)
	}
}

func testNames(t *testing.T, s *fixture) {
	ctx := context.Background()
	for _, name := range []presence.PublicID{
		"0", "-", "a.b_c~d@e-f", "null", "00", "1e3", "DROP-TABLE", presence.PublicID(strings.Repeat("x", presence.MaxIDLength)),
	} {
		u, created, err := s.Ensure(ctx, name, now)
		require.NoError(t, err)
		require.True(t, created, name)
		got, err := s.User(ctx, name)
		require.NoError(t, err)
		require.Equal(t, u, got)
	}
	for _, name := range []presence.PublicID{"", "a b", "ä", "a\x00", "a'b", presence.PublicID(strings.Repeat("x", presence.MaxIDLength+1))} {
		_, _, err := s.Ensure(ctx, name, now)
		require.ErrorIs(t, err, presence.ErrPublicID)
	}
}

func testEnsureTogether(t *testing.T, s *fixture) {
	var all sync.WaitGroup
	var mu sync.Mutex
	ids, created := map[presence.UserID]bool{}, 0
	for range 16 {
		all.Go(func() {
			u, fresh, err := s.Ensure(context.Background(), "everybody", now)
			mu.Lock()
			defer mu.Unlock()
			ids[u.ID] = err == nil
			if fresh {
				created++
			}
		})
	}
	all.Wait()
	require.Len(t, ids, 1)
	require.NotContains(t, ids, presence.UserID(0))
	require.Equal(t, 1, created)
}

func testSetAll(t *testing.T, s *fixture) {
	ctx := context.Background()
	u := s.user(t)
	set := func(mode presence.Mode, until presence.Millis) store.User {
		got, err := s.SetAll(ctx, u.ID, mode, until)
		require.NoError(t, err)
		stored, err := s.UserByID(ctx, u.ID)
		require.NoError(t, err)
		require.Equal(t, got, stored)
		return got
	}
	ghost := set(presence.None, now+1000)
	require.Equal(t, presence.Share{Mode: presence.None, Until: now + 1000, Then: presence.Exact}, ghost.All)
	require.Greater(t, ghost.AllRev, u.AllRev)
	require.Equal(t, ghost, set(presence.None, now+1000), "nothing changed")
	area := set(presence.Area, 0)
	require.Equal(t, presence.Share{Mode: presence.Area}, area.All)
	require.Greater(t, area.AllRev, ghost.AllRev)
	until := set(presence.None, now+2000)
	require.Equal(t, presence.Area, until.All.Then)
}

func testUnknown(t *testing.T, s *fixture) {
	ctx := context.Background()
	u := s.user(t)
	_, err := s.User(ctx, "nobody")
	require.ErrorIs(t, err, store.ErrNotFound)
	for _, id := range []presence.UserID{0, u.ID + 1, 1 << 63, 1<<64 - 1} {
		_, err = s.UserByID(ctx, id)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = s.SetAll(ctx, id, presence.None, 0)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, _, err = s.Friends(ctx, id)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = s.Erase(ctx, id)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = s.SetShare(ctx, u.ID, id, presence.None, 0)
		require.ErrorIs(t, err, store.ErrNotFound)
		for op := store.Request; op <= store.Befriend; op++ {
			_, err = s.Do(ctx, op, u.ID, id)
			require.ErrorIs(t, err, store.ErrNotFound)
			_, err = s.Do(ctx, op, id, u.ID)
			require.ErrorIs(t, err, store.ErrNotFound)
			_, err = s.Do(ctx, op, id, id)
			require.ErrorIs(t, err, store.ErrSelf)
		}
	}
}
