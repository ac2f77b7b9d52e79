package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// noted is a store that notes what it is asked.
type noted struct {
	store.Store
	asked []string
}

func (n *noted) User(ctx context.Context, public presence.PublicID) (store.User, error) {
	n.asked = append(n.asked, "User")
	return n.Store.User(ctx, public)
}

func (n *noted) UserByID(ctx context.Context, id presence.UserID) (store.User, error) {
	n.asked = append(n.asked, "UserByID")
	return n.Store.UserByID(ctx, id)
}

func (n *noted) Do(ctx context.Context, op store.Op, a, b presence.UserID) (store.Outcome, error) {
	n.asked = append(n.asked, "Do")
	return n.Store.Do(ctx, op, a, b)
}

func (n *noted) SetShare(ctx context.Context, id, friend presence.UserID, mode presence.Mode, until presence.Millis) (presence.Friendship, error) {
	n.asked = append(n.asked, "SetShare")
	return n.Store.SetShare(ctx, id, friend, mode, until)
}

// TestS5_NobodyCostsAsMuchAsABlocker: the time of an answer follows from what the
// store is asked, so it must be asked the same.
func TestS5_NobodyCostsAsMuchAsABlocker(t *testing.T) {
	r := newRig(t, "alice", "blocker")
	require.NoError(t, r.friend("blocker", gateway.OpBlock, "alice"))
	r.tellings()
	n := &noted{Store: r.store}
	r.accounts.store = n
	asked := func(do func(presence.PublicID) error, who presence.PublicID) []string {
		n.asked = nil
		require.ErrorIs(t, do(who), gateway.ErrNotFound)
		return n.asked
	}
	for op := range storeOps {
		do := func(who presence.PublicID) error { return r.friend("alice", op, who) }
		require.Equal(t, asked(do, "blocker"), asked(do, "nobody"), op)
	}
	share := func(who presence.PublicID) error {
		return r.Share(context.Background(), r.ids["alice"], who, presence.Area, 0)
	}
	require.Equal(t, asked(share, "blocker"), asked(share, "nobody"))
	require.Empty(t, r.tellings())
}
