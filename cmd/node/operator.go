package main

import (
	"context"
	"errors"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// PutUser creates a user who is not there yet.
func (a *accounts) PutUser(ctx context.Context, user presence.PublicID) (bool, error) {
	_, created, err := a.store.Ensure(ctx, user, a.millis())
	return created, edge(err)
}

// GetUser reads a user.
func (a *accounts) GetUser(ctx context.Context, user presence.PublicID) (gateway.UserInfo, error) {
	u, err := a.store.User(ctx, user)
	if err != nil {
		return gateway.UserInfo{}, edge(err)
	}
	return gateway.UserInfo{User: u.Public, Created: u.Created, Share: u.All}, nil
}

// SetFriends makes or ends a friendship. Neither side gets a notice, since
// neither did it.
func (a *accounts) SetFriends(ctx context.Context, x, y presence.PublicID, friends bool) error {
	one, err := a.store.User(ctx, x)
	if err != nil {
		return edge(err)
	}
	other, err := a.store.User(ctx, y)
	if err != nil {
		return edge(err)
	}
	op := store.Remove
	if friends {
		op = store.Befriend
	}
	_, err = a.change(ctx, op, one.ID, other.ID)
	if op == store.Remove && errors.Is(err, gateway.ErrNotFound) {
		return nil // one blocks the other, so they are no friends
	}
	return err
}

// Friends lists the friendships of a user.
func (a *accounts) Friends(ctx context.Context, user presence.PublicID) ([]gateway.FriendInfo, error) {
	u, err := a.store.User(ctx, user)
	if err != nil {
		return nil, edge(err)
	}
	_, all, err := a.store.Friends(ctx, u.ID)
	if err != nil {
		return nil, edge(err)
	}
	out := make([]gateway.FriendInfo, len(all))
	for i, f := range all {
		out[i] = gateway.FriendInfo{User: f.Public, Share: f.Mine}
	}
	return out, nil
}
