package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/kith-nearby/kith/cmd/node/config"
)

type replayCommand struct {
	File     string        `arg:"" placeholder:"FILE.csv" help:"CSV with a header: vehicle, id or user; t_unix; lat; lng; and, if there, accuracy_m, speed_mps, heading_deg or bearing_deg, outlier. - = standard input."`
	URL      string        `name:"url" placeholder:"ws://…" help:"WebSocket of the node; by default that of the configuration."`
	Speed    float64       `default:"1" help:"How many times faster than it was recorded."`
	Outliers bool          `help:"Include positions that the file marks as outliers."`
	Radius   float64       `placeholder:"M" help:"Metres that each client asks to see; by default the node's."`
	TTL      time.Duration `name:"ttl" default:"24h" help:"How long the tokens hold that it makes."`
	signing
}

// Help shows examples.
func (replayCommand) Help() string {
	return `Each id of the file becomes a user with a WebSocket of its own. Their tokens are
signed with the node's auth.hs256_secret. Users see each other if
they are friends (kith import friends). Times are moved to now. At great speed
people seem to leap; presence.max_speed_mps: 0 lets the node believe it.

Examples:

  kith replay bus.csv --speed 600 --config kith.yaml
  kith replay bus.csv --speed 600 --outliers --radius 1000 --config kith.yaml`
}

// Run replays.
func (cmd *replayCommand) Run(c *console) error {
	cfg, auth, err := cmd.load(c)
	if err != nil {
		return err
	}
	if !(cmd.Speed > 0 && cmd.Speed <= 1e6) {
		return usageError{fmt.Errorf("--speed is %v; use a number above 0, up to 1000000", cmd.Speed)}
	}
	url := cmd.URL
	if url == "" {
		url = socketURL(&cfg)
	}
	if !strings.HasPrefix(url, "ws://") && !strings.HasPrefix(url, "wss://") {
		return usageError{fmt.Errorf("--url is not a WebSocket; write ws://HOST:PORT/v1/ws")}
	}
	in, _, err := openInput(c, cmd.File)
	if err != nil {
		return err
	}
	rec, err := readRecording(in, cmd.Outliers)
	_ = in.Close()
	if err != nil {
		return fmt.Errorf("read %s: %w", cmd.File, err)
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	r := &replay{rec: rec, speed: cmd.Speed, url: url, radius: cmd.Radius, ttl: cmd.TTL, auth: auth, console: c}
	return r.run(ctx)
}

// socketURL is where the WebSocket of a node with this configuration is.
func socketURL(cfg *config.Config) string {
	return "ws" + strings.TrimPrefix(baseURL(cfg), "http") + "/v1/ws"
}

// baseURL is where clients find a node with this configuration, without a slash
// at the end.
func baseURL(cfg *config.Config) string {
	if cfg.Node.PublicURL != "" {
		return strings.TrimRight(cfg.Node.PublicURL, "/")
	}
	return "http://" + reachable(cfg.Node.Listen)
}

// reachable is an address under which this machine reaches a listener.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
