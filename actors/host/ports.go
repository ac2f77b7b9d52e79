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

// Locator knows who is online beyond this node. The host calls it on the
// Loader's workers, so it may block. It never fails: an error is part of the
// answer.
type Locator interface {
	Locate(ctx context.Context, ids []presence.UserID) *actors.Located
}

// Ports is all that the host needs of the rest of the node.
type Ports struct {
	Clients  Clients
	Recorder Recorder
	Loader   Loader
	Locator  Locator // nil = online are those who have an actor on this node
}

// Connected is a Core that says which client connections it has, so that they
// can be closed when it panics.
type Connected interface {
	Connections() []presence.ConnID
}

// Factory makes the Core of an actor that starts now.
type Factory func(id uint64, now time.Time) actors.Core
