package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

var eraseTests = []test{
	{"S6_NothingIsLeft", testErase},
	{"S6_WhileOthersAppend", testEraseTogether},
	{"S6_NobodySeesWhatIsLeft", testEraseHidden},
	{"S6_ManyAtOnce", testEraseMany},
}

func testErase(t *testing.T, s *fixture) {
	ctx := context.Background()
	me, friend, asker, asked, foe, blocker := s.user(t), s.user(t), s.user(t), s.user(t), s.user(t), s.user(t)
	s.do(t, store.Befriend, me.ID, friend.ID)
	s.do(t, store.Befriend, me.ID, blocker.ID)
	s.do(t, store.Request, asker.ID, me.ID)
	s.do(t, store.Request, me.ID, asked.ID)
	s.do(t, store.Block, me.ID, foe.ID)
	s.do(t, store.Block, blocker.ID, me.ID)
	s.do(t, store.Befriend, friend.ID, asked.ID)
	s.fill(t, me.ID, "phone", 3000)
	s.fill(t, me.ID, "watch", 10)
	others := s.fill(t, friend.ID, "phone", 10)

	was := s.friend(t, me.ID, friend.ID)
	e, err := s.Erase(ctx, me.ID)
	require.NoError(t, err)
	require.Equal(t, []presence.UserID{friend.ID}, e.Friends)
	require.Greater(t, e.Rev, was.Rev, "S3")
	require.NoError(t, s.EraseHistory(ctx, me.ID))
	require.NoError(t, s.EraseHistory(ctx, me.ID), "nothing is left to do")
	_, err = s.Erasing(ctx, me.Public)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = s.Erase(ctx, me.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = s.User(ctx, me.Public)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Empty(t, s.all(t, store.HistoryQuery{User: me.ID}))
	_, all := s.friends(t, friend.ID)
	require.Len(t, all, 1, "other friendships stay")
	require.Empty(t, s.requests(t, asked.ID))
	requireRows(t, others, s.all(t, store.HistoryQuery{User: friend.ID}))

	s.append(t, batch(me.ID, "phone", plain(1, now)))
	require.Empty(t, s.all(t, store.HistoryQuery{User: me.ID}))
	again, created, err := s.Ensure(ctx, me.Public, now+1)
	require.NoError(t, err)
	require.True(t, created)
	require.Empty(t, s.requests(t, again.ID))
	require.Empty(t, s.all(t, store.HistoryQuery{User: again.ID}))
	for _, other := range []store.User{friend, asker, asked, foe, blocker} {
		require.Equal(t, requested, s.do(t, store.Request, other.ID, again.ID), "no block or request is left")
	}
}

func testEraseTogether(t *testing.T, s *fixture) {
	ctx := context.Background()
	me, other := s.user(t), s.user(t)
	s.fill(t, me.ID, "d", 2000)
	var writers sync.WaitGroup
	stop := make(chan struct{})
	writers.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			f := plain(uint64(i), now+presence.Millis(i))
			if err := s.Append(ctx, []*presence.Batch{batch(me.ID, "live", f), batch(other.ID, "live", f)}); err != nil {
				t.Error(err)
			}
		}
	})
	_, err := s.Erase(ctx, me.ID)
	require.NoError(t, err)
	require.Empty(t, s.all(t, store.HistoryQuery{User: me.ID}))
	require.NoError(t, s.EraseHistory(ctx, me.ID))
	require.Empty(t, s.all(t, store.HistoryQuery{User: me.ID}))
	close(stop)
	writers.Wait()
	require.Empty(t, s.all(t, store.HistoryQuery{User: me.ID}))
	s.append(t, batch(other.ID, "last", plain(1, now)))
	require.NotEmpty(t, s.all(t, store.HistoryQuery{User: other.ID}))
}

// testEraseHidden looks before the history can have been removed, and while it
// is: an erase that is cut after its first part has hidden the user all the same.
func testEraseHidden(t *testing.T, s *fixture) {
	ctx := context.Background()
	me, friend := s.user(t), s.user(t)
	s.do(t, store.Befriend, me.ID, friend.ID)
	s.fill(t, me.ID, "d", 3000)
	_, err := s.Erase(ctx, me.ID)
	require.NoError(t, err)
	cut, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, s.EraseHistory(cut, me.ID), context.Canceled)
	_, err = s.User(ctx, me.Public)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = s.UserByID(ctx, me.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, all := s.friends(t, friend.ID)
	require.Empty(t, all)
	require.Empty(t, s.all(t, store.HistoryQuery{User: me.ID}))
	_, err = s.Erase(ctx, me.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	if id, err := s.Erasing(ctx, me.Public); err == nil {
		require.Equal(t, me.ID, id)
	} else {
		require.ErrorIs(t, err, store.ErrNotFound, "it is through")
	}
	again, created, err := s.Ensure(ctx, me.Public, now)
	require.NoError(t, err)
	require.True(t, created)
	rows := s.fill(t, again.ID, "d", 10)
	require.NoError(t, s.EraseHistory(ctx, me.ID))
	requireRows(t, rows, s.all(t, store.HistoryQuery{User: again.ID}))
	require.NoError(t, s.EraseHistory(ctx, again.ID), "of who exists nothing is removed")
	requireRows(t, rows, s.all(t, store.HistoryQuery{User: again.ID}))
}

func testEraseMany(t *testing.T, s *fixture) {
	ctx := context.Background()
	var users []store.User
	for range 100 {
		u := s.user(t)
		s.fill(t, u.ID, "d", 5)
		users = append(users, u)
	}
	stays := s.user(t)
	rows := s.fill(t, stays.ID, "d", 50)
	for _, u := range users {
		_, err := s.Erase(ctx, u.ID)
		require.NoError(t, err)
	}
	for _, u := range users {
		require.NoError(t, s.EraseHistory(ctx, u.ID))
		_, err := s.Erasing(ctx, u.Public)
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	requireRows(t, rows, s.all(t, store.HistoryQuery{User: stays.ID}))
}
