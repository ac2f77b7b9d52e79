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

	friends, err := s.Erase(ctx, me.ID)
	require.NoError(t, err)
	require.Equal(t, []presence.UserID{friend.ID}, friends)
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
	close(stop)
	writers.Wait()
	require.Empty(t, s.all(t, store.HistoryQuery{User: me.ID}))
	s.append(t, batch(other.ID, "last", plain(1, now)))
	require.NotEmpty(t, s.all(t, store.HistoryQuery{User: other.ID}))
}
