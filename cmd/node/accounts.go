package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// writeTimeout bounds a change of the store. It runs on when the client goes
// away, so that no change is written without the actors hearing of it.
const writeTimeout = 5 * time.Second

// accounts implements gateway.Accounts and gateway.Operator. Each change goes to
// the store first, then to the actors of both, so what a view shows is never
// ahead of what is kept.
type accounts struct {
	store      store.Store
	names      *names
	autoCreate bool
	tell       func(actors.Address, actors.Message)
	now        func() time.Time
	requests   lately // requests that their askers withdraw and repeat
}

var storeOps = map[gateway.FriendOp]store.Op{
	gateway.OpRequest: store.Request,
	gateway.OpAccept:  store.Accept,
	gateway.OpDecline: store.Decline,
	gateway.OpRemove:  store.Remove,
	gateway.OpBlock:   store.Block,
	gateway.OpUnblock: store.Unblock,
}

// Login returns the inner id of a user.
func (a *accounts) Login(ctx context.Context, user presence.PublicID) (presence.UserID, error) {
	u, err := a.store.User(ctx, user)
	if errors.Is(err, store.ErrNotFound) && a.autoCreate {
		u, _, err = a.store.Ensure(ctx, user, a.millis())
	}
	return u.ID, edge(err)
}

// Friend carries out what a user does about another.
func (a *accounts) Friend(ctx context.Context, user presence.UserID, op gateway.FriendOp, other presence.PublicID) error {
	do, ok := storeOps[op]
	if !ok {
		return fmt.Errorf("friend operation %.16q is not known", string(op))
	}
	them, err := a.lookUp(ctx, other)
	if err != nil {
		return edge(err)
	}
	me, err := a.store.UserByID(ctx, user)
	if err != nil {
		return edge(err)
	}
	out, err := a.change(ctx, do, user, them.ID)
	if err != nil {
		return err
	}
	if do != store.Request {
		a.requests.forget(them.ID, user) // what they asked has had its answer
	}
	if n, ok := noticeFor(do, out); ok && a.audible(n, user, them.ID) {
		a.tell(actors.User(them.ID), &actors.Noticed{Notice: presence.Notice{Kind: n, User: me.Public}})
	}
	return nil
}

// lookUp finds a user by name. Of nobody it gives an id that nobody has: all that
// is done about a user who blocks is done about nobody too, so that the time it
// takes does not tell the two apart (S5).
func (a *accounts) lookUp(ctx context.Context, name presence.PublicID) (store.User, error) {
	u, err := a.store.User(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return store.User{}, nil
	}
	return u, err
}

// audible says whether to notify of n: who asks, withdraws and asks again is heard
// once a minute, unless there was an answer. The request itself is there each time.
func (a *accounts) audible(n presence.NoticeKind, asker, asked presence.UserID) bool {
	return n != presence.Requested || a.requests.first(asker, asked, a.now())
}

// noticeFor says what the other user hears of an operation. A block is heard by
// nobody.
func noticeFor(op store.Op, out store.Outcome) (presence.NoticeKind, bool) {
	switch {
	case op == store.Request && out.Requested:
		return presence.Requested, true
	case (op == store.Request || op == store.Accept) && out.Became:
		return presence.Accepted, true
	case op == store.Remove && out.Ended:
		return presence.Removed, true
	}
	return 0, false
}

// change writes one operation and tells both actors what it changed.
func (a *accounts) change(ctx context.Context, op store.Op, x, y presence.UserID) (store.Outcome, error) {
	ctx, cancel := writing(ctx)
	defer cancel()
	out, err := a.store.Do(ctx, op, x, y)
	if err != nil {
		a.doubt(err, x, y)
		return store.Outcome{}, edge(err)
	}
	if !out.Became && !out.Ended {
		return out, nil
	}
	// To the blocked, a block looks as if the blocker had gone offline for good.
	seen := presence.Unfriended
	if op == store.Block {
		seen = presence.Left
	}
	a.tell(actors.User(y), &actors.FriendChanged{Friendship: out.B, Friends: out.Became, Reason: seen})
	a.tell(actors.User(x), &actors.FriendChanged{Friendship: out.A, Friends: out.Became, Reason: presence.Unfriended})
	return out, nil
}

// doubt makes actors read the store again after a write of which nobody knows
// whether it was carried out.
func (a *accounts) doubt(err error, users ...presence.UserID) {
	if refusal(err) {
		return
	}
	for _, id := range users {
		a.tell(actors.User(id), &actors.Resync{})
	}
}

// Share sets how a user shares with one friend, or with everyone.
func (a *accounts) Share(ctx context.Context, user presence.UserID, friend presence.PublicID, mode presence.Mode, until presence.Millis) error {
	changed := &actors.ShareChanged{}
	if friend == "" {
		ctx, cancel := writing(ctx)
		defer cancel()
		u, err := a.store.SetAll(ctx, user, mode, until)
		if err != nil {
			a.doubt(err, user)
			return edge(err)
		}
		changed.Share, changed.Rev = u.All, u.AllRev
	} else {
		them, err := a.lookUp(ctx, friend)
		if err != nil {
			return edge(err)
		}
		ctx, cancel := writing(ctx)
		defer cancel()
		f, err := a.store.SetShare(ctx, user, them.ID, mode, until)
		if err != nil {
			a.doubt(err, user)
			return edge(err)
		}
		changed.Friend, changed.Share, changed.Rev = them.ID, f.Mine, f.Rev
	}
	a.tell(actors.User(user), changed)
	return nil
}

// maxRequests is how many open requests a client is told of.
const maxRequests = 100

// Requests returns who waits for an answer of this user.
func (a *accounts) Requests(ctx context.Context, user presence.UserID) ([]presence.PublicID, error) {
	all, err := a.store.Requests(ctx, user, maxRequests)
	return all, edge(err)
}

func (a *accounts) millis() presence.Millis { return presence.Millis(a.now().UnixMilli()) }

func writing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}
