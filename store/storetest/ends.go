package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

var endTests = []test{
	{"AnEndedContextChangesNothing", testCancelled},
	{"AfterCloseItIsUnavailable", testClosed},
	{"CloseTwice", testCloseTwice},
}

// calls makes each call of a store once, about users that exist.
func calls(ctx context.Context, s store.Store, a, b store.User) map[string]error {
	errs := map[string]error{}
	_, _, errs["Ensure"] = s.Ensure(ctx, "new", now)
	_, errs["User"] = s.User(ctx, a.Public)
	_, errs["UserByID"] = s.UserByID(ctx, a.ID)
	_, errs["SetAll"] = s.SetAll(ctx, a.ID, presence.None, 0)
	_, errs["Erase"] = s.Erase(ctx, a.ID)
	errs["EraseHistory"] = s.EraseHistory(ctx, a.ID)
	_, errs["Erasing"] = s.Erasing(ctx, a.Public)
	_, errs["Raise"] = s.Raise(ctx, store.Sessions, 9)
	_, errs["Do"] = s.Do(ctx, store.Remove, a.ID, b.ID)
	_, _, errs["Friends"] = s.Friends(ctx, a.ID)
	_, errs["Friend"] = s.Friend(ctx, a.ID, b.ID)
	_, errs["SetShare"] = s.SetShare(ctx, a.ID, b.ID, presence.None, 0)
	_, errs["Requests"] = s.Requests(ctx, a.ID, 10)
	errs["Append"] = s.Append(ctx, []*presence.Batch{batch(a.ID, "d", plain(99, now))})
	_, errs["Query"] = s.Query(ctx, store.HistoryQuery{User: a.ID, Limit: 10})
	_, errs["Prune"] = s.Prune(ctx, now+1_000_000, 100)
	errs["Ping"] = s.Ping(ctx)
	return errs
}

func testCancelled(t *testing.T, s *fixture) {
	a, b := s.user(t), s.user(t)
	s.do(t, store.Befriend, a.ID, b.ID)
	rows := s.fill(t, a.ID, "d", 10)
	before := s.friend(t, a.ID, b.ID)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for call, err := range calls(ended, s, a, b) {
		require.ErrorIs(t, err, context.Canceled, call)
	}
	require.Equal(t, before, s.friend(t, a.ID, b.ID))
	u, _ := s.friends(t, a.ID)
	require.Equal(t, a, u)
	requireRows(t, rows, s.all(t, store.HistoryQuery{User: a.ID}))
	_, err := s.User(context.Background(), "new")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func testClosed(t *testing.T, s *fixture) {
	a, b := s.user(t), s.user(t)
	s.do(t, store.Befriend, a.ID, b.ID)
	require.NoError(t, s.Ping(context.Background()))
	require.NoError(t, s.Close())
	for call, err := range calls(context.Background(), s, a, b) {
		require.ErrorIs(t, err, store.ErrUnavailable, call)
	}
}

func testCloseTwice(t *testing.T, s *fixture) {
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}
