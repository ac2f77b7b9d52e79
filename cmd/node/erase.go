package main

import (
	"context"
	"errors"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// Erase removes a user and everything of theirs.
func (a *accounts) Erase(ctx context.Context, user presence.UserID) error {
	u, err := a.store.UserByID(ctx, user)
	if errors.Is(err, store.ErrNotFound) {
		return edge(err)
	}
	return a.erase(ctx, u, err)
}

// EraseUser is Erase by name. Of a user who is gone already, and of whose history
// something is left, it waits for the rest.
func (a *accounts) EraseUser(ctx context.Context, user presence.PublicID) error {
	u, err := a.store.User(ctx, user)
	if !errors.Is(err, store.ErrNotFound) {
		return a.erase(ctx, u, err)
	}
	id, err := a.store.Erasing(ctx, user)
	if err != nil {
		return edge(err)
	}
	return a.eraseHistory(ctx, id)
}

// erase ends who the user is and tells everybody, and only then turns to the
// history, which may be long. If that fails the caller learns so, and may ask
// again; the user is gone for all others, and the store goes on by itself.
func (a *accounts) erase(ctx context.Context, u store.User, err error) error {
	if err != nil {
		return edge(err)
	}
	within, cancel := writing(ctx)
	defer cancel()
	e, err := a.store.Erase(within, u.ID)
	a.names.forget(u.Public)
	if err != nil {
		a.doubt(err, u.ID) // whose actor ends itself if it is gone
		return edge(err)
	}
	a.tell(actors.User(u.ID), &actors.Erased{})
	for _, friend := range e.Friends {
		a.tell(actors.User(friend), &actors.FriendChanged{
			Friendship: presence.Friendship{Friend: u.ID, Public: u.Public, Mine: presence.Share{Mode: presence.None}, Rev: e.Rev},
			Reason:     presence.Left,
		})
	}
	return a.eraseHistory(ctx, u.ID)
}

func (a *accounts) eraseHistory(ctx context.Context, id presence.UserID) error {
	ctx, cancel := writing(ctx)
	defer cancel()
	return edge(a.store.EraseHistory(ctx, id))
}
