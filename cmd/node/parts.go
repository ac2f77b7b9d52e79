package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/actors/host"
	"github.com/kith-nearby/kith/actors/user"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

// part starts one part of a node and returns how to end it.
type part func(ctx context.Context) (end func(context.Context) error, err error)

// parts is every part, each after those that it needs. The admin port is bound
// first, so that it answers until all else has ended.
func (n *Node) parts(opt nodeOptions) []part {
	return []part{
		func(context.Context) (func(context.Context) error, error) {
			return n.bind(&n.admin, n.cfg.Node.Admin, opt)
		},
		n.openStore,
		func(context.Context) (func(context.Context) error, error) { return n.openHub(opt) },
		n.openWriter,
		n.openHost,
		n.openAccounts,
		n.openRetention,
		n.openStats,
		func(context.Context) (func(context.Context) error, error) {
			return n.bind(&n.public, n.cfg.Node.Listen, opt)
		},
		func(context.Context) (func(context.Context) error, error) { return n.openHandlers(opt) },
	}
}

func nothing(context.Context) error { return nil }

func (n *Node) bind(l *listener, addr string, opt nodeOptions) (func(context.Context) error, error) {
	listen := opt.Listen
	if listen == nil {
		listen = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	var err error
	if l.Listener, err = listen(addr); err != nil {
		return nil, fmt.Errorf("%w; choose another address with node.listen or node.admin", err)
	}
	return func(ctx context.Context) error { return l.end(ctx) }, nil
}

// end lets requests under way be answered, while ctx lasts.
func (l *listener) end(ctx context.Context) error {
	if l.server == nil { // never served
		return l.Close()
	}
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close()
	}
	l.serving.Wait()
	return nil
}

func (n *Node) serve(l *listener) {
	l.serving.Go(func() {
		if err := l.server.Serve(l.Listener); !errors.Is(err, http.ErrServerClosed) {
			n.failed <- fmt.Errorf("listen on %s: %w", l.Addr(), err)
		}
	})
}

func (n *Node) openStore(ctx context.Context) (func(context.Context) error, error) {
	var err error
	if n.store, err = openStore(ctx, &n.cfg, n.log); err != nil {
		return nil, err
	}
	n.ready = &readiness{ping: n.store.Ping, now: n.now}
	return func(context.Context) error {
		n.ready.set(draining)
		n.ready.wait()
		return n.store.Close()
	}, nil
}

func (n *Node) openHub(opt nodeOptions) (func(context.Context) error, error) {
	n.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	c := gateway.DefaultSocketConfig()
	c.Node = n.instance.String()
	c.Origins = n.origins(opt)
	c.MaxFrameBytes, c.FixesPerS = n.cfg.Gateway.MaxFrameBytes, n.cfg.Gateway.FixesPerS
	c.ConnectsPerS, c.IPConnects = n.cfg.Gateway.ConnectsPerS, n.cfg.Gateway.IPConnectsPerS
	c.MaxRadius = n.cfg.Presence.MaxRadiusM
	c.FixInterval, c.StaleAfter = n.cfg.Presence.FixInterval, n.cfg.Presence.StaleAfter
	c.Now = n.now
	var err error
	if c.Proxies, err = gateway.ParseProxies(n.cfg.Gateway.TrustedProxies); err != nil {
		return nil, err
	}
	if n.hub, err = gateway.NewHub(c, n.metrics, n.log); err != nil {
		return nil, err
	}
	return func(context.Context) error {
		n.hub.Stop()
		return nil
	}, nil
}

func (n *Node) origins(opt nodeOptions) gateway.Origins {
	return gateway.NewOrigins(n.cfg.Gateway.Origins, opt.Dev)
}

func (n *Node) openWriter(context.Context) (func(context.Context) error, error) {
	c := store.DefaultWriterConfig()
	c.Logger = n.log
	var err error
	if n.writer, err = store.NewWriter(n.store, n.hub, c, n.metrics); err != nil {
		return nil, err
	}
	return n.writer.Close, nil
}

func (n *Node) openHost(ctx context.Context) (func(context.Context) error, error) {
	users := user.Default()
	users.Radius, users.MaxRadius = float32(n.cfg.Presence.RadiusM), float32(n.cfg.Presence.MaxRadiusM)
	users.StaleAfter, users.Grace = n.cfg.Presence.StaleAfter, n.cfg.Presence.OfflineGrace
	users.Mutual, users.MaxSpeed = n.cfg.Presence.Mutual, n.cfg.Presence.MaxSpeedMPS
	users.JumpHold = n.cfg.Presence.JumpHold
	if err := users.Validate(); err != nil {
		return nil, fmt.Errorf("presence: %w", err)
	}
	c := host.Default()
	c.Now = n.now
	numbers, err := openSessions(ctx, n.store, n.now, n.log)
	if err != nil {
		return nil, err
	}
	factories := map[actors.Kind]host.Factory{
		actors.UserKind: func(id uint64, now time.Time) actors.Core {
			return user.New(&users, presence.UserID(id), numbers.next(now))
		},
	}
	n.host, err = host.New(c, host.Ports{Clients: n.hub, Recorder: n.writer, Loader: loader{n.store}}, factories, n.metrics, n.log)
	if err != nil {
		numbers.close()
		return nil, err
	}
	return func(ctx context.Context) error {
		defer numbers.close()
		return n.host.Close(ctx)
	}, nil
}

func (n *Node) openAccounts(context.Context) (func(context.Context) error, error) {
	n.accounts = &accounts{
		store: n.store, names: newNames(n.store), autoCreate: n.cfg.Auth.AutoCreate,
		tell: n.host.Send, now: n.now,
	}
	var err error
	n.auth, err = newAuth(&n.cfg)
	return nothing, err
}

func (n *Node) openRetention(context.Context) (func(context.Context) error, error) {
	c := store.DefaultRetentionConfig()
	c.Age, c.Logger = n.cfg.Store.Retention, n.log
	r, err := store.StartRetention(n.store, c)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		r.Close()
		return nil
	}, nil
}
