package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// unfinished is a store that is too slow in removing history, or full.
type unfinished struct {
	store.Store
	err    error // nil = it is not
	waited []presence.UserID
}

func (c *unfinished) EraseHistory(ctx context.Context, id presence.UserID) error {
	c.waited = append(c.waited, id)
	if c.err != nil {
		return c.err
	}
	return c.Store.EraseHistory(ctx, id)
}

func TestAccounts_Erase(t *testing.T) {
	r := newRig(t, "alice", "bob", "eve")
	require.NoError(t, r.SetFriends(t.Context(), "alice", "bob", true))
	require.NoError(t, r.SetFriends(t.Context(), "alice", "eve", true))
	ids, err := r.accounts.names.resolve(t.Context(), []presence.PublicID{"alice"})
	require.NoError(t, err)
	require.Equal(t, r.ids["alice"], ids[0])
	r.tellings()
	require.NoError(t, r.Erase(t.Context(), r.ids["alice"]))
	require.Equal(t, []string{"alice: *actors.Erased", "bob: friends=false with alice offline", "eve: friends=false with alice offline"}, r.tellings())
	ids, err = r.accounts.names.resolve(t.Context(), []presence.PublicID{"alice"})
	require.NoError(t, err)
	require.Zero(t, ids[0])
	require.ErrorIs(t, r.EraseUser(t.Context(), "alice"), gateway.ErrNotFound)
	require.ErrorIs(t, r.Erase(t.Context(), r.ids["alice"]), gateway.ErrNotFound)
	require.Empty(t, r.tellings())
}

// TestAccounts_AnEraseThatIsCutHasHiddenTheUser: whatever becomes of the history,
// everybody is told, and before it is turned to.
func TestAccounts_AnEraseThatIsCutHasHiddenTheUser(t *testing.T) {
	for _, fault := range []error{context.DeadlineExceeded, store.ErrUnavailable} {
		r := newRig(t, "alice", "bob")
		require.NoError(t, r.SetFriends(t.Context(), "alice", "bob", true))
		r.tellings()
		c := &unfinished{Store: r.store, err: fault}
		r.accounts.store = c
		require.ErrorIs(t, r.Erase(t.Context(), r.ids["alice"]), gateway.ErrUnavailable)
		require.Equal(t, []string{"alice: *actors.Erased", "bob: friends=false with alice offline"}, r.tellings())
		_, err := r.GetUser(t.Context(), "alice")
		require.ErrorIs(t, err, gateway.ErrNotFound)
		require.True(t, (loader{r.accounts.store}).LoadFriends(t.Context(), r.ids["alice"]).Gone)
		list, err := r.Friends(t.Context(), "bob")
		require.NoError(t, err)
		require.Empty(t, list)
	}
}

// leftOver is a store in which the history of one erased user stays until it is
// waited for.
type leftOver struct {
	*unfinished
	public presence.PublicID
	id     presence.UserID
}

func (l *leftOver) Erasing(_ context.Context, public presence.PublicID) (presence.UserID, error) {
	if public != l.public || len(l.waited) > 1 {
		return 0, store.ErrNotFound
	}
	return l.id, nil
}

// TestAccounts_AskingAgainWaitsForTheRest: of an erase under way the operator gets
// the end, and not_found only once nothing is left.
func TestAccounts_AskingAgainWaitsForTheRest(t *testing.T) {
	r := newRig(t, "alice")
	c := &unfinished{Store: r.store, err: store.ErrUnavailable}
	r.accounts.store = &leftOver{c, "alice", r.ids["alice"]}
	require.ErrorIs(t, r.EraseUser(t.Context(), "alice"), gateway.ErrUnavailable)
	r.tellings()
	c.err = nil
	require.NoError(t, r.EraseUser(t.Context(), "alice"))
	require.Equal(t, []presence.UserID{r.ids["alice"], r.ids["alice"]}, c.waited)
	require.Empty(t, r.tellings(), "everybody knows")
	require.ErrorIs(t, r.EraseUser(t.Context(), "alice"), gateway.ErrNotFound)
	require.ErrorIs(t, r.EraseUser(t.Context(), "nobody"), gateway.ErrNotFound)
}

// TestAccounts_AnEraseOfWhichNobodyKnows: the error of a commit does not say that
// it did not happen, so the user's actor must look.
func TestAccounts_AnEraseOfWhichNobodyKnows(t *testing.T) {
	r := newRig(t, "alice")
	r.accounts.store = inDoubt{r.store}
	require.ErrorIs(t, r.Erase(t.Context(), r.ids["alice"]), gateway.ErrUnavailable)
	require.Equal(t, []string{"alice: *actors.Resync"}, r.tellings())
}

type inDoubt struct{ store.Store }

func (i inDoubt) Erase(ctx context.Context, id presence.UserID) (store.Erased, error) {
	if _, err := i.Store.Erase(ctx, id); err != nil {
		return store.Erased{}, err
	}
	return store.Erased{}, store.ErrUnavailable
}

func TestLoader(t *testing.T) {
	r := newRig(t, "alice", "bob")
	l := loader{r.store}
	require.NoError(t, r.SetFriends(t.Context(), "alice", "bob", true))
	friends := l.LoadFriends(t.Context(), r.ids["alice"])
	require.False(t, friends.Gone)
	require.Len(t, friends.Friends, 1)
	was := l.LoadFriend(t.Context(), r.ids["alice"], r.ids["bob"])
	require.True(t, was.Friends)
	require.NoError(t, r.SetFriends(t.Context(), "alice", "bob", false))
	is := l.LoadFriend(t.Context(), r.ids["alice"], r.ids["bob"])
	require.Greater(t, is.Friendship.Rev, was.Friendship.Rev, "the end is later than what it ended")
	require.Equal(t, &actors.FriendLoaded{Friendship: presence.Friendship{Friend: r.ids["bob"], Rev: is.Friendship.Rev}}, is)
	require.Equal(t, &actors.FriendsLoaded{Gone: true}, l.LoadFriends(t.Context(), 12345))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, l.LoadFriends(ended, r.ids["alice"]).Err)
	require.Error(t, l.LoadFriend(ended, r.ids["alice"], r.ids["bob"]).Err)
}

// TestErase_CutInARealNode: friends see the erased user go, the clients are closed,
// and the node answers that it is not done.
func TestErase_CutInARealNode(t *testing.T) {
	tw := newTown(t, nil)
	tw.befriend("alice", "bob")
	alice, bob := tw.person("alice", "phone"), tw.person("bob", "phone")
	alice.at(0)
	bob.at(100)
	bob.sees("near alice")
	alice.sees("near bob")
	tw.node.accounts.store = &unfinished{Store: tw.node.store, err: context.DeadlineExceeded}
	status, body := tw.call(http.MethodDelete, "/v1/me", tw.token("alice"), nil)
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	bob.sees("gone alice offline")
	require.Eventually(t, func() bool {
		alice.mu.Lock()
		defer alice.mu.Unlock()
		return len(alice.ended) > 0
	}, patience, poll, "4001")
	_, sees := bob.View()["alice"]
	require.False(t, sees)
}
