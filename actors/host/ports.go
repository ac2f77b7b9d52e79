package host

import (
	"context"
	"time"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/presence"
)

// Clients is where effects on client connections go. Its methods never block
// and may be called for connections that are gone.
type Clients interface {
	Welcome(conn presence.ConnID, w *presence.Welcome)
	Push(conn presence.ConnID, c *presence.Change)
	Notify(conn presence.ConnID, n presence.Notice)
	Close(conn presence.ConnID, code presence.CloseCode)
}

// Recorder is where fixes for history go. It never blocks; what it cannot take
// it reports to the connection itself.
type Recorder interface {
	Record(b *presence.Batch)
}

// Loader reads friendships. The host calls it on its own bounded workers, so it
// may block. It never fails: an error is part of the answer.
type Loader interface {
	LoadFriends(ctx context.Context, id presence.UserID) *actors.FriendsLoaded
	LoadFriend(ctx context.Context, id, friend presence.UserID) *actors.FriendLoaded
}

// Ports is all that the host needs of the rest of the node.
type Ports struct {
	Clients  Clients
	Recorder Recorder
	Loader   Loader
}

// Factory makes the Core of an actor that starts now.
type Factory func(id uint64, now time.Time) actors.Core
