package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/presence"
)

type devCommand struct{ settings }

// Help shows examples.
func (devCommand) Help() string {
	return `Listens on this machine only, on ports 8080 and 9090 or on free ones if those are
taken. Data is in a temporary directory that is removed at the end.

Examples:

  kith dev
  kith dev --presence.radius_m 500`
}

// Run serves until a signal.
func (cmd *devCommand) Run(c *console) error {
	cfg, origin, faults := cmd.read(c)
	dir, err := os.MkdirTemp("", "kith-dev-")
	if err != nil {
		return fmt.Errorf("make a directory for temporary data: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := config.Join(faults, devConfig(&cfg, origin, dir)); err != nil {
		return err
	}
	opt := nodeOptions{Log: newLogger(c.err, cfg.Log), Dev: true, Listen: listenNear}
	return runNode(cfg, opt, func(n *Node) error { return introduce(n, c.out) })
}

// devConfig sets what was not set to what is handy for trying, and refuses what
// would not be local and temporary.
func devConfig(cfg *config.Config, origin config.Origin, dir string) error {
	unset := func(key string) bool { return origin[key] == "default" }
	var fs config.Faults
	if !unset("node.data") || !unset("store.url") {
		fs = append(fs, config.Fault{Key: "node.data, store.url", Wrong: "kith dev keeps nothing", Do: "use kith serve, or leave them out"})
	}
	cfg.Node.Data = dir
	for key, addr := range map[string]*string{"node.listen": &cfg.Node.Listen, "node.admin": &cfg.Node.Admin} {
		if unset(key) {
			_, port, _ := net.SplitHostPort(*addr)
			*addr = net.JoinHostPort("127.0.0.1", port)
		} else if !onLoopback(*addr) {
			fs = append(fs, config.Fault{Key: key, From: origin[key], Wrong: "kith dev listens on this machine only", Do: "use kith serve, or 127.0.0.1:PORT"})
		}
	}
	if cfg.Auth.HS256Secret == "" {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails: crypto/rand ends the process instead
		cfg.Auth.HS256Secret = config.Secret(hex.EncodeToString(secret))
	}
	if unset("auth.auto_create") {
		cfg.Auth.AutoCreate = true
	}
	if unset("log.level") {
		cfg.Log.Level = "warn"
	}
	return config.Join(fs.Err(), cfg.ValidateServe())
}

func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// listenNear listens on addr, or on a free port of the same host if it is taken.
func listenNear(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ln, err
	}
	host, _, _ := net.SplitHostPort(addr)
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

const devTTL = 24 * time.Hour

// introduce makes two friends and says how to try them.
func introduce(n *Node, w io.Writer) error {
	ctx := context.Background()
	tokens := map[presence.PublicID]string{}
	for _, user := range []presence.PublicID{"alice", "bob"} {
		if _, err := n.accounts.PutUser(ctx, user); err != nil {
			return err
		}
		token, err := n.auth.Issue(user, devTTL, n.now())
		if err != nil {
			return err
		}
		tokens[user] = token
	}
	if err := n.accounts.SetFriends(ctx, "alice", "bob", true); err != nil {
		return err
	}
	url := n.PublicURL()
	_, err := fmt.Fprintf(w, devText, versionName(), url, n.SocketURL(), url, n.AdminURL(),
		tokens["alice"], tokens["bob"],
		url, tokens["alice"], url, tokens["bob"], url, tokens["alice"])
	return err
}

const devText = `kith %s, for trying: all of it is gone when it ends (Ctrl-C)

  http       %s
  websocket  %s
  api        %s/docs/openapi.json
  admin      %s

Two friends, with tokens for 24 hours:

  alice      %s
  bob        %s

Try it: both send a position, then alice asks who is near.

curl -sS -X POST %s/v1/fixes -H 'Content-Type: application/json' -H 'Authorization: Bearer %s' -d '{"fixes":[{"seq":1,"lat":52.5200,"lng":13.4050}]}' && \
curl -sS -X POST %s/v1/fixes -H 'Content-Type: application/json' -H 'Authorization: Bearer %s' -d '{"fixes":[{"seq":1,"lat":52.5219,"lng":13.4132}]}' && \
sleep 1 && \
curl -sS %s/v1/nearby -H 'Authorization: Bearer %s'

`
