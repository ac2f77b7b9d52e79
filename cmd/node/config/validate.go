package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/web"
)

// Validate returns Faults with everything that cannot work or contradicts
// itself, or nil.
func (c *Config) Validate() error {
	var fs Faults
	c.Node.validate(&fs)
	c.Auth.validate(&fs)
	c.Gateway.validate(&fs)
	c.Presence.validate(&fs)
	c.Store.validate(&fs)
	c.UI.validate(&fs)
	c.Log.validate(&fs)
	c.validateSingle(&fs)
	c.Liveness.validate(&fs)
	if sameAddress(c.Node.Listen, c.Node.Admin) {
		fs.add("node.admin", "is the same address as node.listen", "give it another port")
	}
	return fs.Err()
}

// ValidateServe is Validate, and what only a node that serves needs.
func (c *Config) ValidateServe() error {
	var fs Faults
	if err := c.Validate(); err != nil {
		fs = err.(Faults)
	}
	if c.Auth.HS256Secret == "" && c.Auth.JWKSURL == "" {
		fs.add("auth.hs256_secret", "is empty, so no token could be checked",
			"set "+EnvName("auth.hs256_secret")+" to the output of: openssl rand -hex 32")
	}
	return fs.Err()
}

func (n *Node) validate(fs *Faults) {
	if !label(n.Name, 64) {
		fs.add("node.name", "is not a node name", "use 1 to 64 characters of a-z 0-9 -")
	}
	address(fs, "node.listen", n.Listen)
	address(fs, "node.admin", n.Admin)
	if strings.TrimSpace(n.Data) == "" {
		fs.add("node.data", "is empty", "name a directory that the node may write to, such as ./data")
	}
	if n.PublicURL != "" && !isURL(n.PublicURL, "http", "https") {
		fs.add("node.public_url", "is not an address that clients could use", "write https://HOST, or leave it empty")
	}
	between(fs, "node.drain_within", n.DrainWithin, 10*time.Millisecond, time.Hour)
}

func (a *Auth) validate(fs *Faults) {
	if n := len(a.HS256Secret); n > 0 && n < gateway.MinSecret {
		fs.add("auth.hs256_secret", fmt.Sprintf("has %d bytes and can be guessed", n),
			fmt.Sprintf("use at least %d: openssl rand -hex 32", gateway.MinSecret))
	}
	if a.JWKSURL != "" {
		fs.add("auth.jwks_url", "is set, and this version checks only tokens signed with a shared secret",
			"remove it and set auth.hs256_secret; this version runs as a single node in memory-only mode and does not take it yet")
	}
	seen := map[Secret]bool{}
	for i, key := range a.APIKeys {
		if len(key) < gateway.MinAPIKey {
			fs.add("auth.api_keys", fmt.Sprintf("entry %d has %d bytes and can be guessed", i+1, len(key)),
				fmt.Sprintf("use at least %d: openssl rand -hex 32", gateway.MinAPIKey))
		}
		if seen[key] {
			fs.add("auth.api_keys", fmt.Sprintf("entry %d is there twice", i+1), "remove one of the two")
		}
		seen[key] = true
	}
	if a.HS256Secret != "" && seen[a.HS256Secret] {
		fs.add("auth.api_keys", "one is also auth.hs256_secret, so whoever holds it could be any user", "use another for each")
	}
}

func (g *Gateway) validate(fs *Faults) {
	for i, origin := range g.Origins {
		u, err := url.Parse(origin)
		if err != nil || !isURL(origin, "http", "https") || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			fs.add("gateway.origins", fmt.Sprintf("entry %d is not a browser origin", i+1), "write https://HOST or https://HOST:PORT")
		}
	}
	inRange(fs, "gateway.max_frame_bytes", float64(g.MaxFrameBytes), 1024, 1<<20)
	inRange(fs, "gateway.fixes_per_s", g.FixesPerS, 0.01, 1000)
	if _, err := gateway.ParseProxies(g.TrustedProxies); err != nil {
		fs.add("gateway.trusted_proxies", "has an entry that is no address: "+err.Error(), "write addresses, or ranges such as 10.0.0.0/8")
	}
	inRange(fs, "gateway.connects_per_s", g.ConnectsPerS, 0, 1e6)
	inRange(fs, "gateway.ip_connects_per_s", g.IPConnectsPerS, 0, 1e6)
}

// The least and most metres that a view may reach. Actors keep the exit radius
// of each friend in steps of 2 m in 16 bits.
const (
	minRadius = 100
	maxRadius = 120_000
)

func (p *Presence) validate(fs *Faults) {
	inRange(fs, "presence.radius_m", p.RadiusM, minRadius, maxRadius)
	inRange(fs, "presence.max_radius_m", p.MaxRadiusM, minRadius, maxRadius)
	if p.RadiusM > p.MaxRadiusM {
		fs.add("presence.radius_m", "is more than presence.max_radius_m", "lower the one or raise the other")
	}
	between(fs, "presence.fix_interval", p.FixInterval, 10*time.Millisecond, time.Hour)
	between(fs, "presence.stale_after", p.StaleAfter, 20*time.Millisecond, 24*time.Hour)
	between(fs, "presence.offline_grace", p.OfflineGrace, 0, time.Hour)
	inRange(fs, "presence.max_speed_mps", p.MaxSpeedMPS, 0, 1e6)
	between(fs, "presence.jump_hold", p.JumpHold, 0, time.Hour)
	if p.StaleAfter < 2*p.FixInterval {
		fs.add("presence.stale_after", "is under twice presence.fix_interval, so one lost fix would hide a user", "raise it, or lower presence.fix_interval")
	}
}

func (u *UI) validate(fs *Faults) {
	pages := web.Options{TilesURL: u.TilesURL, TilesAttribution: u.TilesAttribution}
	switch {
	case pages.Validate() != nil:
		fs.add("ui.tiles_url", "is no address of tiles", "write https://HOST/{z}/{x}/{y}.png, or leave it empty")
	case u.TilesURL != "" && strings.TrimSpace(u.TilesAttribution) == "":
		fs.add("ui.tiles_attribution", "is empty, and whoever makes map tiles wants to be named", "write what their terms ask for")
	}
}

func (s *Store) validate(fs *Faults) {
	scheme, rest, _ := strings.Cut(s.URL, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		fs.add("store.url", "names PostgreSQL, which this version does not take yet", "write sqlite:FILE, such as sqlite:kith.db")
	case scheme != "sqlite" || rest == "":
		fs.add("store.url", "names no database", "write sqlite:FILE, such as sqlite:kith.db")
	}
	if s.Retention != 0 {
		between(fs, "store.retention", s.Retention, time.Minute, 100*365*24*time.Hour)
	}
}

func (l *Log) validate(fs *Faults) {
	oneOf(fs, "log.level", l.Level, "debug", "info", "warn", "error")
	oneOf(fs, "log.format", l.Format, "auto", "text", "json")
}

// validateSingle refuses what only a cluster would use, rather than ignore it.
func (c *Config) validateSingle(fs *Faults) {
	const (
		wrong = "is set, but this version runs as a single node in memory-only mode and does not take it yet"
		do    = "remove it"
	)
	refuse := func(key string, set bool) {
		if set {
			fs.add(key, wrong, do)
		}
	}
	refuse("redis.url", c.Redis.URL != "")
	refuse("redis.cache_urls", len(c.Redis.CacheURLs) > 0)
	refuse("cluster.join", len(c.Cluster.Join) > 0)
	refuse("cluster.secret", c.Cluster.Secret != "")
	if !label(c.Redis.Stage, 32) {
		fs.add("redis.stage", "is not a stage name", "use 1 to 32 characters of a-z 0-9 -")
	}
	address(fs, "cluster.gossip", c.Cluster.Gossip)
	address(fs, "cluster.link", c.Cluster.Link)
}

func (l *Liveness) validate(fs *Faults) {
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"liveness.heartbeat", l.Heartbeat},
		{"liveness.ttl", l.TTL},
		{"liveness.stale", l.Stale},
		{"liveness.confirm", l.Confirm},
		{"liveness.lease", l.Lease},
		{"liveness.renew", l.Renew},
		{"liveness.unknown", l.Unknown},
		{"liveness.grace", l.Grace},
	} {
		between(fs, d.key, d.value, time.Millisecond, time.Hour)
	}
	if l.TTL < 2*l.Heartbeat {
		fs.add("liveness.ttl", "is under twice liveness.heartbeat, so one lost heartbeat would fence the node", "raise it, or lower liveness.heartbeat")
	}
	if l.Stale <= l.TTL {
		fs.add("liveness.stale", "is not more than liveness.ttl, so a node could be reaped while it serves", "set it to 1.5 times liveness.ttl")
	}
	if l.Lease < 3*l.Renew {
		fs.add("liveness.lease", "is under 3 times liveness.renew, so a slow renewal would lose it", "raise it, or lower liveness.renew")
	}
}

func address(fs *Faults, key, value string) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		var n uint64
		if n, err = strconv.ParseUint(port, 10, 16); err == nil && n <= 65535 {
			return
		}
	}
	fs.add(key, "is not an address to listen on", "write HOST:PORT or :PORT, such as 127.0.0.1:8080")
}

// sameAddress reports whether two listeners would meet: the same port on the
// same host, or on every host.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || hostA == "" || hostB == ""
}

func isURL(raw string, schemes ...string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return false
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme {
			return true
		}
	}
	return false
}

func label(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-'
}

func inRange(fs *Faults, key string, v, least, most float64) {
	if !(v >= least && v <= most) {
		fs.add(key, fmt.Sprintf("is %v", v), fmt.Sprintf("use %v to %v", least, strconv.FormatFloat(most, 'f', -1, 64)))
	}
}

func between(fs *Faults, key string, v, least, most time.Duration) {
	if v < least || v > most {
		fs.add(key, fmt.Sprintf("is %v", v), fmt.Sprintf("use %v to %v", least, most))
	}
}

func oneOf(fs *Faults, key, value string, allowed ...string) {
	for _, a := range allowed {
		if value == a {
			return
		}
	}
	fs.add(key, fmt.Sprintf("%q is none of its values", brief(value)), "use one of "+strings.Join(allowed, ", "))
}
