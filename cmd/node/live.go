package main

import (
	"context"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/host"
	"github.com/kith-nearby/kith/presence"
)

// live implements gateway.Live over the host. Each call that brings work waits
// first while the user's shard has too much; whoever has waited as long as the
// host lets them goes on, so that nothing is lost.
type live struct{ host *host.Host }

func (l live) admit(to actors.Address) { _ = l.host.Admit(context.Background(), to) }

// Attach adds a connection, and starts the user's actor if there is none.
func (l live) Attach(user presence.UserID, conn presence.ConnID, device presence.DeviceID, radius float32) {
	to := actors.User(user)
	l.admit(to)
	l.host.Start(to, &actors.Attach{Conn: conn, Device: device, Radius: radius})
}

// Detach takes a connection away. It never waits: it makes room.
func (l live) Detach(user presence.UserID, conn presence.ConnID) {
	l.host.Send(actors.User(user), &actors.Detach{Conn: conn})
}

// Report hands over fixes, and starts the user's actor if there is none.
func (l live) Report(b *presence.Batch) {
	to := actors.User(b.User)
	l.admit(to)
	l.host.Start(to, &actors.Report{Batch: b})
}

// Rest says that the user has not moved.
func (l live) Rest(user presence.UserID, conn presence.ConnID, device presence.DeviceID) {
	to := actors.User(user)
	l.admit(to)
	l.host.Send(to, &actors.Rest{Device: device, Conn: conn})
}

// SetRadius changes how far the user sees, in metres.
func (l live) SetRadius(user presence.UserID, radius float32) {
	to := actors.User(user)
	l.admit(to)
	l.host.Send(to, &actors.SetRadius{Radius: radius})
}
