package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/host"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

// viewAskers is how many actors one list of users asks at a time.
const viewAskers = 64

// views implements gateway.Views by asking the users' actors.
type views struct {
	host  *host.Host
	names *names
	node  presence.Instance
}

// Nearby returns the user's view.
func (v views) Nearby(ctx context.Context, id presence.UserID) ([]presence.Near, error) {
	s, _, err := v.inspect(ctx, id, false)
	return s.Near, err
}

// Presence returns the status of each.
func (v views) Presence(ctx context.Context, users []presence.PublicID) ([]gateway.Status, error) {
	ids, err := v.names.resolve(ctx, users)
	if err != nil {
		return nil, edge(err)
	}
	out := make([]gateway.Status, len(users))
	return out, spread(len(users), viewAskers, func(i int) error {
		out[i] = gateway.Status{User: users[i], State: presence.Offline}
		if ids[i] == 0 {
			return nil
		}
		s, here, err := v.inspect(ctx, ids[i], false)
		if err != nil || !here {
			return err
		}
		out[i].State, out[i].LastSeen, out[i].Node = s.State, s.Heard, v.node.String()
		return nil
	})
}

// inspect asks the user's actor for its state, closely or not; here is false if
// there is none.
func (v views) inspect(ctx context.Context, id presence.UserID, closely bool) (s user.Snapshot, here bool, err error) {
	answer, err := v.host.Ask(ctx, actors.User(id), func(ask actors.Ask) actors.Message { return &actors.Inspect{Ask: ask, Closely: closely} })
	switch {
	case errors.Is(err, host.ErrNoActor), errors.Is(err, host.ErrStopped):
		return s, false, nil
	case errors.Is(err, host.ErrBusy), errors.Is(err, host.ErrClosed):
		return s, false, fmt.Errorf("%w: %w", gateway.ErrUnavailable, err)
	case err != nil:
		return s, false, edge(err)
	}
	s, here = answer.(user.Snapshot)
	if !here {
		return s, false, fmt.Errorf("a user answered with a %T", answer)
	}
	return s, true, nil
}
