package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
	"github.com/kith-nearby/kith/store/sqlite"
)

// broken is a store whose writes of friendships fail as told, after the write.
type broken struct {
	store.Store
	err error
}

func (b *broken) Do(ctx context.Context, op store.Op, x, y presence.UserID) (store.Outcome, error) {
	out, err := b.Store.Do(ctx, op, x, y)
	if err == nil {
		err = b.err
	}
	return out, err
}

type accountsRig struct {
	*accounts
	store *broken
	told  []string
	ids   map[presence.PublicID]presence.UserID
	names map[presence.UserID]presence.PublicID
}

func newRig(t *testing.T, users ...presence.PublicID) *accountsRig {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "kith.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	r := &accountsRig{store: &broken{Store: db}, ids: map[presence.PublicID]presence.UserID{}, names: map[presence.UserID]presence.PublicID{}}
	r.accounts = &accounts{store: r.store, names: newNames(r.store), tell: r.tell, now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }}
	for _, user := range users {
		created, err := r.PutUser(t.Context(), user)
		require.NoError(t, err)
		require.True(t, created)
		u, err := db.User(t.Context(), user)
		require.NoError(t, err)
		r.ids[user], r.names[u.ID] = u.ID, user
	}
	return r
}

func (r *accountsRig) tell(to actors.Address, m actors.Message) {
	line := string(r.names[presence.UserID(to.ID)]) + ": "
	switch m := m.(type) {
	case *actors.FriendChanged:
		line += fmt.Sprintf("friends=%t with %s", m.Friends, r.names[m.Friendship.Friend])
		if !m.Friends {
			line += " " + m.Reason.String()
		}
	case *actors.Noticed:
		line += fmt.Sprintf("notice %d of %s", m.Notice.Kind, m.Notice.User)
	case *actors.ShareChanged:
		line += fmt.Sprintf("share %v with %q", m.Share.Mode, r.names[m.Friend])
	default:
		line += fmt.Sprintf("%T", m)
	}
	r.told = append(r.told, line)
}

// tellings returns what was told since it was last called.
func (r *accountsRig) tellings() []string {
	told := r.told
	r.told = nil
	return told
}

func (r *accountsRig) friend(user presence.PublicID, op gateway.FriendOp, other presence.PublicID) error {
	return r.Friend(context.Background(), r.ids[user], op, other)
}

func TestAccounts_RequestAcceptRemove(t *testing.T) {
	r := newRig(t, "alice", "bob")
	require.NoError(t, r.friend("alice", gateway.OpRequest, "bob"))
	require.Equal(t, []string{"bob: notice 0 of alice"}, r.tellings())
	require.NoError(t, r.friend("alice", gateway.OpRequest, "bob"), "again")
	require.Empty(t, r.tellings())
	waiting, err := r.Requests(t.Context(), r.ids["bob"])
	require.NoError(t, err)
	require.Equal(t, []presence.PublicID{"alice"}, waiting)

	require.NoError(t, r.friend("bob", gateway.OpAccept, "alice"))
	require.ElementsMatch(t, []string{"alice: friends=true with bob", "bob: friends=true with alice", "alice: notice 1 of bob"}, r.tellings())

	require.NoError(t, r.friend("alice", gateway.OpRemove, "bob"))
	require.ElementsMatch(t, []string{"alice: friends=false with bob unfriended", "bob: friends=false with alice unfriended", "bob: notice 2 of alice"}, r.tellings())
	require.NoError(t, r.friend("alice", gateway.OpRemove, "bob"))
	require.Empty(t, r.tellings())

	require.NoError(t, r.friend("alice", gateway.OpRequest, "bob"))
	r.tellings()
	require.NoError(t, r.friend("bob", gateway.OpRequest, "alice"), "both asked")
	require.ElementsMatch(t, []string{"alice: friends=true with bob", "bob: friends=true with alice", "alice: notice 1 of bob"}, r.tellings())
}

func TestAccounts_ABlockLooksLikeAnAccountThatEnded(t *testing.T) {
	r := newRig(t, "alice", "bob")
	require.NoError(t, r.SetFriends(t.Context(), "alice", "bob", true))
	require.ElementsMatch(t, []string{"alice: friends=true with bob", "bob: friends=true with alice"}, r.tellings(), "no notice of what the operator did")

	require.NoError(t, r.friend("alice", gateway.OpBlock, "bob"))
	require.ElementsMatch(t, []string{"alice: friends=false with bob unfriended", "bob: friends=false with alice offline"}, r.tellings(), "bob gets no notice")

	blocked := r.friend("bob", gateway.OpRequest, "alice")
	nobody := r.friend("bob", gateway.OpRequest, "nobody")
	require.ErrorIs(t, blocked, gateway.ErrNotFound)
	require.Equal(t, nobody.Error(), blocked.Error(), "the two cannot be told apart")
	require.NoError(t, r.SetFriends(t.Context(), "bob", "alice", false), "nothing to end")
	require.Empty(t, r.tellings())

	require.NoError(t, r.friend("alice", gateway.OpUnblock, "bob"))
	require.Empty(t, r.tellings(), "no friendship comes back")
	require.NoError(t, r.friend("bob", gateway.OpRequest, "alice"))
}

func TestAccounts_Share(t *testing.T) {
	r := newRig(t, "alice", "bob")
	require.ErrorIs(t, r.Share(t.Context(), r.ids["alice"], "bob", presence.Area, 0), gateway.ErrNotFound, "no friends")
	require.NoError(t, r.SetFriends(t.Context(), "alice", "bob", true))
	r.tellings()
	require.NoError(t, r.Share(t.Context(), r.ids["alice"], "bob", presence.Area, 0))
	require.NoError(t, r.Share(t.Context(), r.ids["alice"], "", presence.None, 0))
	require.Equal(t, []string{`alice: share area with "bob"`, `alice: share none with ""`}, r.tellings())
	list, err := r.Friends(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, []gateway.FriendInfo{{User: "bob", Share: presence.Share{Mode: presence.Area}}}, list)
	info, err := r.GetUser(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, gateway.UserInfo{User: "alice", Created: 1_700_000_000_000, Share: presence.Share{Mode: presence.None}}, info)
}

func TestAccounts_Login(t *testing.T) {
	r := newRig(t, "alice")
	id, err := r.Login(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, r.ids["alice"], id)
	_, err = r.Login(t.Context(), "new")
	require.ErrorIs(t, err, gateway.ErrNotFound)
	r.autoCreate = true
	id, err = r.Login(t.Context(), "new")
	require.NoError(t, err)
	again, err := r.Login(t.Context(), "new")
	require.NoError(t, err)
	require.Equal(t, id, again)
}

func TestAccounts_Errors(t *testing.T) {
	r := newRig(t, "alice", "bob")
	require.ErrorIs(t, r.friend("alice", gateway.OpRequest, "alice"), gateway.ErrSelf)
	require.ErrorIs(t, r.SetFriends(t.Context(), "alice", "alice", true), gateway.ErrSelf)
	require.ErrorIs(t, r.friend("alice", gateway.OpAccept, "bob"), gateway.ErrNotFound)
	require.ErrorIs(t, r.SetFriends(t.Context(), "alice", "nobody", true), gateway.ErrNotFound)
	require.ErrorContains(t, r.friend("alice", "marry", "bob"), "is not known")
	require.Empty(t, r.tellings(), "a refusal changes nothing")
	_, err := r.GetUser(t.Context(), "nobody")
	require.ErrorIs(t, err, gateway.ErrNotFound)

	r.store.err = fmt.Errorf("%w: disk", store.ErrUnavailable)
	require.ErrorIs(t, r.friend("alice", gateway.OpRequest, "bob"), gateway.ErrUnavailable)
	require.Equal(t, []string{"alice: *actors.Resync", "bob: *actors.Resync"}, r.tellings(), "whether it was written is not known")
	require.ErrorIs(t, edge(context.DeadlineExceeded), gateway.ErrUnavailable)
	other := errors.New("other")
	require.Equal(t, other, edge(other))
}

func TestAccounts_AWriteOutlivesItsCaller(t *testing.T) {
	r := newRig(t, "alice", "bob")
	require.NoError(t, r.SetFriends(t.Context(), "alice", "bob", true))
	r.tellings()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.change(ctx, store.Remove, r.ids["alice"], r.ids["bob"])
	require.NoError(t, err)
	require.Len(t, r.tellings(), 2)
}

func TestSpread_EndsAtAnError(t *testing.T) {
	fault := errors.New("fault")
	require.NoError(t, spread(0, 4, func(int) error { return fault }))
	require.ErrorIs(t, spread(100, 1, func(i int) error {
		require.LessOrEqual(t, i, 3)
		if i == 3 {
			return fault
		}
		return nil
	}), fault)
	seen := make([]int, 50)
	require.NoError(t, spread(50, 8, func(i int) error { seen[i]++; return nil }))
	for _, n := range seen {
		require.Equal(t, 1, n)
	}
}

func TestReadiness(t *testing.T) {
	now := time.UnixMilli(0).Add(time.Hour)
	var down error
	r := &readiness{ping: func(context.Context) error { return down }, now: func() time.Time { return now }}
	require.Equal(t, "starting", r.NotReady())
	r.set(serving)
	require.Empty(t, r.NotReady())
	r.wait()
	down = store.ErrUnavailable
	require.Empty(t, r.NotReady(), "the last answer holds for a while")
	r.wait()
	require.Empty(t, r.NotReady())
	now = now.Add(pingEvery)
	r.NotReady()
	r.wait()
	require.Equal(t, "store_down", r.NotReady())
	down = nil
	now = now.Add(pingEvery)
	r.NotReady()
	r.wait()
	require.Empty(t, r.NotReady())
	r.set(draining)
	require.Equal(t, "draining", r.NotReady())
}
