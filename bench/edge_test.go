package bench

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/actors"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

// benchSecret signs the tokens of this run, which never leave the machine.
const benchSecret = "0123456789abcdef0123456789abcdef"

// edge is what the gateway needs of a node, over a stage.
type edge struct {
	*stage
	hub *gateway.Hub
}

// Login implements gateway.Accounts.
func (*edge) Login(_ context.Context, user presence.PublicID) (presence.UserID, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(user), "user"), 10, 64)
	if err != nil {
		return 0, gateway.ErrNotFound
	}
	return presence.UserID(n), nil
}

// Friend implements gateway.Accounts, of which idle clients need nothing else.
func (*edge) Friend(context.Context, presence.UserID, gateway.FriendOp, presence.PublicID) error {
	return gateway.ErrUnavailable
}

// Share implements gateway.Accounts.
func (*edge) Share(context.Context, presence.UserID, presence.PublicID, presence.Mode, presence.Millis) error {
	return gateway.ErrUnavailable
}

// Requests implements gateway.Accounts.
func (*edge) Requests(context.Context, presence.UserID) ([]presence.PublicID, error) { return nil, nil }

// Erase implements gateway.Accounts.
func (*edge) Erase(context.Context, presence.UserID) error { return gateway.ErrUnavailable }

// NotReady implements gateway.Readiness.
func (*edge) NotReady() string { return "" }

// Attach implements gateway.Live.
func (e *edge) Attach(user presence.UserID, conn presence.ConnID, dev presence.DeviceID, radius float32) {
	e.host.Start(actors.User(user), &actors.Attach{Conn: conn, Device: dev, Radius: radius})
}

// Detach implements gateway.Live.
func (e *edge) Detach(user presence.UserID, conn presence.ConnID) {
	e.host.Send(actors.User(user), &actors.Detach{Conn: conn})
}

// Report implements gateway.Live.
func (e *edge) Report(b *presence.Batch) {
	e.host.Start(actors.User(b.User), &actors.Report{Batch: b})
}

// Rest implements gateway.Live.
func (e *edge) Rest(user presence.UserID, conn presence.ConnID, dev presence.DeviceID) {
	e.host.Send(actors.User(user), &actors.Rest{Device: dev, Conn: conn})
}

// SetRadius implements gateway.Live.
func (e *edge) SetRadius(user presence.UserID, radius float32) {
	e.host.Send(actors.User(user), &actors.SetRadius{Radius: radius})
}

// Record implements host.Recorder: what is to be kept is durable at once.
func (e *edge) Record(b *presence.Batch) { e.hub.Durable(b) }

// served is what a server says when it is ready, and when it is asked.
type served struct {
	Addr   string
	Before memoryUse
	Now    memoryUse
	Users  int
	Held   uint64 // RSS as it was before memory was given back
	Top    []holder
}

// playEdge is Kith's gateway, host and user actors in a process, with friends
// from a town and history that is durable at once.
func playEdge(start json.RawMessage, ask func(any) (json.RawMessage, error)) error {
	var users int
	if err := json.Unmarshal(start, &users); err != nil {
		return err
	}
	cfg := gateway.DefaultSocketConfig()
	cfg.ConnectsPerS, cfg.IPConnects = 0, 0 // all come at once
	log := slog.New(slog.DiscardHandler)
	hub, err := gateway.NewHub(cfg, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer hub.Stop()
	e := &edge{hub: hub}
	if e.stage, err = newStage(newTown(users, degree, 4, perVillage), hub, e); err != nil {
		return err
	}
	defer func() { _ = e.close() }()
	auth, err := gateway.NewAuth(gateway.AuthConfig{HS256Secret: benchSecret})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := gateway.NewServer(gateway.NewSockets(hub, gateway.SocketPorts{Live: e, Accounts: e, Readiness: e}, auth), log)
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	return answerMemory(ln.Addr().String(), e.host.Users, ask)
}

// playBare is gobwas alone: an upgrade and a goroutine that reads.
func playBare(_ json.RawMessage, ask func(any) (json.RawMessage, error)) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go bareReader(nc)
		}
	}()
	return answerMemory(ln.Addr().String(), func() int { return 0 }, ask)
}

func bareReader(nc net.Conn) {
	defer nc.Close()
	if _, err := (ws.Upgrader{Protocol: func([]byte) bool { return true }}).Upgrade(nc); err != nil {
		return
	}
	for {
		if _, _, err := wsutil.ReadClientData(nc); err != nil {
			return
		}
	}
}

// answerMemory says where the server is, and at every question what it holds.
func answerMemory(addr string, users func() int, ask func(any) (json.RawMessage, error)) error {
	now := served{Addr: addr, Before: memoryNow()}
	before := holding()
	for {
		if _, err := ask(now); err != nil {
			return nil // the parent has gone
		}
		now.Held, now.Users = residentBytes(), users()
		now.Now = memoryNow()
		now.Top = holders(before)
	}
}

// crowdOrder is what a crowd of clients is told to do.
type crowdOrder struct {
	Addr  string
	Conns int
	Plain bool // upgrade only
	Quiet bool // connect, and report nothing
}

// playCrowd opens connections, lets each report one fix unless it is to be quiet,
// and then only answers pings.
func playCrowd(start json.RawMessage, ask func(any) (json.RawMessage, error)) error {
	var order crowdOrder
	if err := json.Unmarshal(start, &order); err != nil {
		return err
	}
	t := newTown(order.Conns, degree, 4, perVillage)
	auth, err := gateway.NewAuth(gateway.AuthConfig{HS256Secret: benchSecret})
	if err != nil {
		return err
	}
	sockets, err := openAll(order.Conns, func(i int) (*socket, error) {
		s, err := dial(context.Background(), order.Addr, i)
		if err != nil || order.Plain {
			return s, err
		}
		if err := enter(s, auth, presence.UserID(i+1)); err != nil || order.Quiet {
			return s, err
		}
		return s, s.send(appendFix(nil, t.at(i, 0), 1, time.Now().UnixMilli()))
	})
	if err != nil {
		return err
	}
	for _, s := range sockets {
		go func() {
			for {
				if _, err := s.next(); err != nil {
					return
				}
			}
		}()
	}
	_, _ = ask(len(sockets)) // until the parent has gone
	return nil
}

// enter is the hello of a user with a token that the benchmark signs.
func enter(s *socket, auth *gateway.Auth, id presence.UserID) error {
	user := publicID(id)
	token, err := auth.Issue(user, time.Hour, time.Now())
	if err != nil {
		return err
	}
	return s.hello(user, token)
}

// openAll opens n sockets, some at a time.
func openAll(n int, open func(i int) (*socket, error)) ([]*socket, error) {
	const atOnce = 32
	all, next, failed := make([]*socket, n), make(chan int), make(chan error, atOnce)
	for range atOnce {
		go func() {
			var first error
			for i := range next {
				if first == nil {
					all[i], first = open(i)
				}
			}
			failed <- first
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	var err error
	for range atOnce {
		if e := <-failed; e != nil {
			err = e
		}
	}
	return all, err
}
