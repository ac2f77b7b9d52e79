package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/actors/host"
	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
	"github.com/kith-nearby/kith/store/sqlite"
)

// nodeOptions is what a Node needs besides its configuration. Log is needed.
type nodeOptions struct {
	Log      *slog.Logger
	Dev      bool                                    // browser pages of this machine may call
	Personas *personas                               // whom one may be on the map page; nil = nobody
	Listen   func(addr string) (net.Listener, error) // nil = TCP
	Now      func() time.Time                        // nil = time.Now
}

// Node is a running node. Open starts its parts in the order in which they need
// each other: store, history writer, actors, gateway, listeners. Close drains it
// and ends them in the opposite order.
type Node struct {
	cfg      config.Config
	log      *slog.Logger
	now      func() time.Time
	instance presence.Instance
	metrics  *prometheus.Registry

	store    *sqlite.DB
	hub      *gateway.Hub
	writer   *store.Writer
	host     *host.Host
	accounts *accounts
	stats    *gateway.Stats
	auth     *gateway.Auth
	ready    *readiness

	public, admin listener
	failed        chan error // a listener broke

	drainOnce, forceOnce   sync.Once
	drainAsked, forceAsked chan struct{} // closed by a call of the admin port

	ends      []func(context.Context) error // of the parts, in the order of their opening
	closeOnce sync.Once
	closeErr  error
}

// listener is a port and what answers there.
type listener struct {
	net.Listener
	server  *http.Server // nil until all parts are there
	serving sync.WaitGroup
}

// Open starts a node. If any part fails, those that run are ended, and nothing
// is left behind.
func Open(ctx context.Context, cfg config.Config, opt nodeOptions) (*Node, error) {
	if err := cfg.ValidateServe(); err != nil {
		return nil, err
	}
	n := newNode(cfg, opt)
	for _, open := range n.parts(opt) {
		end, err := open(ctx)
		if err != nil {
			return nil, errors.Join(err, n.end(ctx))
		}
		n.ends = append(n.ends, end)
	}
	n.serve(&n.admin)
	n.serve(&n.public)
	n.ready.set(serving)
	return n, nil
}

// Close ends the node: it gets no new clients, those that it has are told when
// to return, what is queued is written, and all parts are ended. With ctx over
// it waits for nothing more. A second Close waits for the first.
func (n *Node) Close(ctx context.Context) error {
	n.closeOnce.Do(func() {
		n.ready.set(draining)
		n.drainClients(ctx)
		n.closeErr = n.end(ctx)
	})
	return n.closeErr
}

// end ends all parts that were opened, the last first.
func (n *Node) end(ctx context.Context) error {
	var errs []error
	for i := len(n.ends) - 1; i >= 0; i-- {
		errs = append(errs, n.ends[i](ctx))
	}
	n.ends = nil
	return errors.Join(errs...)
}

func newNode(cfg config.Config, opt nodeOptions) *Node {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Node{
		cfg: cfg, log: opt.Log, now: opt.Now,
		// A restart is a new instance, and its epoch is later.
		instance:   presence.Instance{Name: cfg.Node.Name, Epoch: uint64(opt.Now().UnixMilli())},
		metrics:    prometheus.NewRegistry(),
		failed:     make(chan error, 2),
		drainAsked: make(chan struct{}), forceAsked: make(chan struct{}),
	}
}

// PublicURL is how clients reach the node, without a slash at the end.
func (n *Node) PublicURL() string {
	if n.cfg.Node.PublicURL != "" {
		return strings.TrimRight(n.cfg.Node.PublicURL, "/")
	}
	return "http://" + reachable(n.public.Addr().String())
}

// SocketURL is the WebSocket of the node.
func (n *Node) SocketURL() string { return "ws" + strings.TrimPrefix(n.PublicURL(), "http") + "/v1/ws" }

// AdminURL is the admin port, as seen from this machine.
func (n *Node) AdminURL() string { return "http://" + reachable(n.admin.Addr().String()) }

func (n *Node) askDrain() { n.drainOnce.Do(func() { close(n.drainAsked) }) }

func (n *Node) askForce() { n.forceOnce.Do(func() { close(n.forceAsked) }) }
