package main

import (
	"context"
	"errors"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// loader implements host.Loader over the store.
type loader struct{ store store.Store }

// LoadFriends reads the friendships of a user.
func (l loader) LoadFriends(ctx context.Context, id presence.UserID) *actors.FriendsLoaded {
	u, friends, err := l.store.Friends(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &actors.FriendsLoaded{Gone: true}
	case err != nil:
		return &actors.FriendsLoaded{Err: err}
	}
	return &actors.FriendsLoaded{Self: u.Public, All: u.All, AllRev: u.AllRev, Friends: friends}
}

// LoadFriend reads one friendship.
func (l loader) LoadFriend(ctx context.Context, id, friend presence.UserID) *actors.FriendLoaded {
	f, err := l.store.Friend(ctx, id, friend)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &actors.FriendLoaded{Friendship: f} // of which Friend and Rev are set
	case err != nil:
		return &actors.FriendLoaded{Friendship: presence.Friendship{Friend: friend}, Err: err}
	}
	return &actors.FriendLoaded{Friendship: f, Friends: true}
}
