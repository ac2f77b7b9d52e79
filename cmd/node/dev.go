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
	"sync"
	"syscall"
	"time"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/cmd/node/sim"
)

type devCommand struct {
	City   string `default:"Berlin" placeholder:"NAME" help:"Where it is: NAME, NAME,COUNTRY or LAT,LNG."`
	People int    `default:"200" help:"How many simulated people."`
	Seed   uint64 `default:"1" help:"The same seed makes the same people."`
	settings
}

// Help shows examples.
func (devCommand) Help() string {
	return `Listens on this machine only, on ports 8080 and 9090 or on free ones if those are
taken. Simulated people move around a city; you may be any of a dozen more, who are
friends with some of them. Data is in a temporary directory that is removed at the
end.

Examples:

  kith dev
  kith dev --city Tokyo --people 500
  kith dev --presence.radius_m 500`
}

// Run serves until a signal.
func (cmd *devCommand) Run(c *console) error {
	city, err := sim.FindCity(cmd.City)
	if err != nil {
		return usageError{fmt.Errorf("--city: %w", err)}
	}
	town, err := newDevTown(city, cmd.People, cmd.Seed)
	if err != nil {
		return usageError{fmt.Errorf("--people: %w", err)}
	}
	cfg, origin, faults := cmd.read(c)
	dir, err := os.MkdirTemp("", "kith-dev-")
	if err != nil {
		return fmt.Errorf("make a directory for temporary data: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := config.Join(faults, devConfig(&cfg, origin, dir)); err != nil {
		return err
	}
	// The people hear a signal too, and leave before they are sent away.
	ctx, leave := untilSignal(context.Background())
	var people sync.WaitGroup
	defer func() {
		leave()
		people.Wait()
	}()
	opt := nodeOptions{Log: newLogger(c.err, cfg.Log), Dev: true, Personas: &personas{}, Listen: listenNear}
	return runNode(cfg, opt, func(n *Node) error {
		if err := town.movesIn(context.Background(), n); err != nil { // it is quick, and half of it would not do
			return err
		}
		opt.Personas.json.Store(town.json())
		people.Go(func() {
			if err := town.live(ctx, n, cmd.Seed); err != nil {
				opt.Log.Warn("simulated people left", "err", err)
			}
		})
		return town.introduce(n, c.out)
	})
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
	if unset("node.drain_within") {
		cfg.Node.DrainWithin = devDrain
	}
	if unset("log.level") {
		cfg.Log.Level = "warn"
	}
	return config.Join(fs.Err(), cfg.ValidateServe())
}

// devDrain is how long a node for trying may take to end; half of it is for
// sending away whoever has its page open.
const devDrain = 6 * time.Second

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

// introduce says how to try a town.
func (t *devTown) introduce(n *Node, w io.Writer) error {
	url := n.PublicURL()
	alice, bob := t.personas[0], t.personas[1]
	look := ""
	if n.cfg.UI.Enabled {
		look = fmt.Sprintf(devLook, url, alice.User, alice.Token, url, bob.User, bob.Token)
	}
	send := func(p persona) string {
		return fmt.Sprintf(`curl -sS -X POST %s/v1/fixes -H 'Content-Type: application/json' -H 'Authorization: Bearer %s' -d '{"fixes":[{"seq":1,"lat":%.4f,"lng":%.4f}]}'`,
			url, p.Token, p.Lat, p.Lng)
	}
	_, err := fmt.Fprintf(w, devText, versionName(), url, url, n.SocketURL(), url, n.AdminURL(), len(t.people.People), t.city.Name,
		alice.Token, bob.Token, look, send(alice), send(bob), url, alice.Token)
	return err
}

const devText = `kith %s, for trying: all of it is gone when it ends (Ctrl-C)

  map        %s/
  http       %s
  websocket  %s
  api        %s/docs/openapi.json
  admin      %s/

%d simulated people around %s, and two whom you may be. Tokens for 24 hours:

  alice      %s
  bob        %s
%s
Try it: both send a position, then alice asks who is near.

%s && \
%s && \
sleep 1 && \
curl -sS %s/v1/nearby -H 'Authorization: Bearer %s'

`

const devLook = `
See it: each in a tab of its own.

  %s/#user=%s&token=%s
  %s/#user=%s&token=%s
`
