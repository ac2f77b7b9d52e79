package main

import (
	"context"
	"time"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/web"
)

// openHandlers makes what answers on both ports.
func (n *Node) openHandlers(opt nodeOptions) (func(context.Context) error, error) {
	actorsOf := live{n.host}
	sockets := gateway.NewSockets(n.hub, gateway.SocketPorts{Live: actorsOf, Accounts: n.accounts, Readiness: n.ready}, n.auth)
	c := gateway.DefaultHTTPConfig()
	c.Origins, c.Now, c.Pages = n.origins(opt), n.now, n.pages(opt)
	public := gateway.NewPublicHandler(c, gateway.HTTPPorts{
		Live: actorsOf, Views: views{n.host, n.accounts.names, n.instance}, Accounts: n.accounts, Operator: n.accounts,
		Histories: histories{n.store}, Readiness: n.ready, Hub: n.hub,
	}, n.auth, sockets, n.log, n.metrics)
	n.public.server = gateway.NewServer(public, n.log)
	admin := gateway.NewAdminHandler(gateway.AdminConfig{
		Page: web.Operator(), Stats: n.stats, Users: n.inspector(), Hub: n.hub,
	}, cluster{n}, n.metrics, n.log, n.metrics)
	n.admin.server = gateway.NewServer(admin, n.log)
	return nothing, nil
}

// mostDrain is the longest over which clients are sent away.
const mostDrain = 20 * time.Second

// drainClients sends the clients away, spread over half of the time that a drain
// may take. It returns when they are gone, or with ctx.
func (n *Node) drainClients(ctx context.Context) {
	n.hub.Drain(ctx, min(n.cfg.Node.DrainWithin/2, mostDrain), "the node is being stopped")
}
