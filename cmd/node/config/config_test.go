package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const example = "../../../configs/kith.example.yaml"

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kith.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestG4_TheExampleNamesEveryKeyAndEqualsDefault(t *testing.T) {
	c, origin, err := Load(Sources{File: example})
	require.NoError(t, err)
	require.Equal(t, Default(), c)
	for _, e := range schema {
		require.Equal(t, "file "+example, origin[e.key], e.key)
	}
}

func TestLaterSourcesWin(t *testing.T) {
	file := write(t, "node: {name: from-file, listen: ':1', admin: ':2'}\npresence: {stale_after: 300ms}\n")
	c, origin, err := Load(Sources{
		File:  file,
		Env:   []string{"KITH_NODE_LISTEN=:3", "KITH_NODE_ADMIN=:4", "KITH_NODE_DATA=", "OTHER=1", "KITH_GATEWAY_ORIGINS=https://a.example, https://b.example"},
		Flags: map[string]string{"node.admin": ":5", "auth.auto_create": "true", "presence.radius_m": "1200.5"},
	})
	require.NoError(t, err)
	require.Equal(t, "from-file", c.Node.Name)
	require.Equal(t, ":3", c.Node.Listen)
	require.Equal(t, ":5", c.Node.Admin)
	require.Equal(t, "./data", c.Node.Data, "an empty variable counts as not set")
	require.Equal(t, []string{"https://a.example", "https://b.example"}, c.Gateway.Origins)
	require.Equal(t, 300*time.Millisecond, c.Presence.StaleAfter)
	require.True(t, c.Auth.AutoCreate)
	require.InDelta(t, 1200.5, c.Presence.RadiusM, 0)
	require.Equal(t, "file "+file, origin["node.name"])
	require.Equal(t, "env KITH_NODE_LISTEN", origin["node.listen"])
	require.Equal(t, "flag --node.admin", origin["node.admin"])
	require.Equal(t, "default", origin["node.data"])
}

func TestG1_AllFaultsAtOnce(t *testing.T) {
	file := write(t, `
node: {lisen: ":1", name: 7}
presence: {stale_after: 10, radius_m: far, mutual: perhaps}
gateway: [1]
nonsense: 1
node.listen: ":1"
auth: {api_keys: [{a: b}], hs256_secret: [x]}
`)
	_, _, err := Load(Sources{
		File:  file,
		Env:   []string{"KITH_NODE_LISTN=:1", "KITH_GATEWAY_MAX_FRAME_BYTES=1.5"},
		Flags: map[string]string{"log.levle": "info", "store.retention": "1 day"},
	})
	require.Error(t, err)
	for _, want := range []string{
		"the configuration has 14 faults:",
		"node.lisen (file " + file + "): there is no such key; did you mean node.listen?",
		"node.name (file " + file + "): is a number, not text; put it in quotes",
		"presence.stale_after (file " + file + "): is a number, not a duration; write a number with a unit",
		`presence.radius_m (file ` + file + `): "far" is not a number`,
		"presence.mutual (file " + file + "): is text, not true or false",
		"gateway (file " + file + "): is a list, not a section",
		"nonsense (file " + file + "): there is no such key",
		"node.listen (file " + file + "): there is no such key",
		"auth.api_keys (file " + file + "): entry 1 is a section, not text",
		"auth.hs256_secret (file " + file + "): is a list, not text",
		"(env KITH_NODE_LISTN): there is no such key; did you mean KITH_NODE_LISTEN?",
		"gateway.max_frame_bytes (env KITH_GATEWAY_MAX_FRAME_BYTES): is not a whole number",
		"log.levle (flag --log.levle): there is no such key; did you mean log.level?",
		`store.retention (flag --store.retention): "1 day" is not a duration`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestG1_JoinLeavesOutWhatFollowsFromAFault(t *testing.T) {
	c, _, err := Load(Sources{Env: []string{"KITH_PRESENCE_RADIUS_M=far", "KITH_LOG_LEVEL=loud", "KITH_UNKNOWN=", "KITH_REDIS_URL=redis://x"}})
	err = Join(err, c.ValidateServe())
	require.ErrorContains(t, err, "has 4 faults:")
	for _, want := range []string{"presence.radius_m (env", "log.level: ", "redis.url: ", "auth.hs256_secret: "} {
		require.ErrorContains(t, err, want)
	}
	first := Faults{{Key: "a", Wrong: "1"}, {Key: "a", Wrong: "2"}, {Wrong: "3"}}
	second := Faults{{Key: "a", Wrong: "4"}, {Key: "b", Wrong: "5"}, {Wrong: "6"}}
	require.Equal(t, Faults{first[0], first[1], first[2], second[1], second[2]}, Join(first, nil, second))
	require.NoError(t, Join(nil, nil))
	other := errors.New("other")
	require.Equal(t, other, Join(first, other))
}

func TestG1_WholeFiles(t *testing.T) {
	_, _, err := Load(Sources{File: filepath.Join(t.TempDir(), "none.yaml")})
	require.ErrorContains(t, err, "there is no such file; check the path")
	_, _, err = Load(Sources{File: t.TempDir()})
	require.ErrorContains(t, err, "cannot be read")
	_, _, err = Load(Sources{File: write(t, "auth:\n  hs256_secret: \"geheim\n")})
	require.ErrorContains(t, err, "bad syntax at line")
	require.NotContains(t, err.Error(), "geheim")
	_, _, err = Load(Sources{File: write(t, "- a\n- b\n")})
	require.ErrorContains(t, err, "is not YAML with sections and keys")
	c, _, err := Load(Sources{File: write(t, "node:\nauth: {}\n")})
	require.NoError(t, err)
	require.Equal(t, Default(), c)
}

func TestG2_Validate(t *testing.T) {
	good := strings.Repeat("s", 32)
	cases := []struct {
		name   string
		change func(*Config)
		want   []string // none: the configuration is good
	}{
		{"default with a secret", func(*Config) {}, nil},
		{"milliseconds", func(c *Config) {
			c.Presence.FixInterval, c.Presence.StaleAfter, c.Presence.OfflineGrace = 300*time.Millisecond, 6*time.Second, 0
		}, nil},
		{"any free port twice", func(c *Config) { c.Node.Listen, c.Node.Admin = "127.0.0.1:0", "127.0.0.1:0" }, nil},
		{"no secret", func(c *Config) { c.Auth.HS256Secret = "" }, []string{"auth.hs256_secret: is empty, so no token could be checked; set KITH_AUTH_HS256_SECRET"}},
		{"short secret and key", func(c *Config) { c.Auth.HS256Secret, c.Auth.APIKeys = "short", []Secret{"k"} }, []string{"auth.hs256_secret: has 5 bytes", "auth.api_keys: entry 1 has 1 bytes"}},
		{"one secret for all", func(c *Config) { c.Auth.APIKeys = []Secret{Secret(good), Secret(good)} }, []string{"entry 2 is there twice", "is also auth.hs256_secret"}},
		{"cluster", func(c *Config) {
			c.Redis.URL, c.Redis.CacheURLs, c.Cluster.Join, c.Cluster.Secret, c.Auth.JWKSURL = "redis://r", []string{"redis://c"}, []string{"a:1"}, "x", "https://k"
		}, []string{"redis.url: is set, but this version runs as a single node in memory-only mode", "redis.cache_urls: ", "cluster.join: ", "cluster.secret: ", "auth.jwks_url: "}},
		{"same port", func(c *Config) { c.Node.Listen, c.Node.Admin = ":80", "127.0.0.1:80" }, []string{"node.admin: is the same address"}},
		{"addresses", func(c *Config) { c.Node.Listen, c.Cluster.Gossip, c.Node.PublicURL = "8080", ":99999", "example.com" }, []string{"node.listen: ", "cluster.gossip: ", "node.public_url: "}},
		{"names", func(c *Config) { c.Node.Name, c.Redis.Stage, c.Node.Data = "a b", "", " " }, []string{"node.name: ", "redis.stage: ", "node.data: "}},
		{"radius", func(c *Config) { c.Presence.RadiusM = 60_000 }, []string{"presence.radius_m: is more than presence.max_radius_m"}},
		{"radius range", func(c *Config) { c.Presence.RadiusM, c.Presence.MaxRadiusM = 1, 1e9 }, []string{"presence.radius_m: is 1;", "presence.max_radius_m: is 1e+09;"}},
		{"stale", func(c *Config) { c.Presence.StaleAfter = 40 * time.Second }, []string{"presence.stale_after: is under twice presence.fix_interval"}},
		{"negative", func(c *Config) { c.Presence.OfflineGrace, c.Store.Retention = -1, -1 }, []string{"presence.offline_grace: ", "store.retention: "}},
		{"store", func(c *Config) { c.Store.URL = "postgres://u:geheim@h/d" }, []string{"store.url: names PostgreSQL"}},
		{"tiles", func(c *Config) { c.UI.TilesURL = "https://tiles.example/geheim" }, []string{"ui.tiles_url: is no address of tiles"}},
		{"tiles of nobody", func(c *Config) { c.UI.TilesURL = "https://tiles.example/{z}/{x}/{y}" }, []string{"ui.tiles_attribution: is empty"}},
		{"tiles of somebody", func(c *Config) {
			c.UI.TilesURL, c.UI.TilesAttribution = "https://tiles.example/{z}/{x}/{y}", "Somebody"
		}, nil},
		{"no store", func(c *Config) { c.Store.URL = "kith.db" }, []string{"store.url: names no database"}},
		{"log", func(c *Config) { c.Log.Level, c.Log.Format = "loud", "xml" }, []string{`log.level: "loud" is none of its values; use one of debug, info, warn, error`, "log.format: "}},
		{"gateway", func(c *Config) {
			c.Gateway.Origins, c.Gateway.MaxFrameBytes, c.Gateway.FixesPerS = []string{"https://a.example/x"}, 10, 0
		}, []string{"gateway.origins: entry 1", "gateway.max_frame_bytes: is 10;", "gateway.fixes_per_s: is 0;"}},
		{"liveness", func(c *Config) { c.Liveness = Liveness{Heartbeat: 2, TTL: 3, Stale: 3, Lease: 5, Renew: 2} }, []string{"liveness.ttl: is under twice", "liveness.stale: is not more", "liveness.lease: is under 3 times"}},
		{"drain", func(c *Config) { c.Node.DrainWithin = 0 }, []string{"node.drain_within: is 0s; use 10ms to 1h0m0s"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := Default()
			c.Auth.HS256Secret = Secret(good)
			tc.change(&c)
			err := c.ValidateServe()
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "geheim")
		})
	}
}

func TestG3_SecretsAreMasked(t *testing.T) {
	const secret = "geheim-geheim-geheim-geheim-geheim"
	file := write(t, "auth: {hs256_secret: "+secret+", api_keys: ["+secret+"1]}\nstore: {url: 'postgres://u:"+secret+"@h/d'}\nredis: {url: 'redis://:"+secret+"@h', cache_urls: ['redis://:"+secret+"@h']}\n")
	c, origin, err := Load(Sources{File: file})
	require.NoError(t, err)
	require.Equal(t, secret, c.Auth.HS256Secret.Reveal())

	var out strings.Builder
	require.NoError(t, Print(&out, c, origin))
	fmt.Fprintf(&out, "%v %+v %#v %s %q", c, c, c, c.Auth.HS256Secret, c.Auth.APIKeys)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "c", c.Auth, "s", c.Auth.HS256Secret)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", c.Auth.HS256Secret, "k", c.Auth.APIKeys)
	require.Contains(t, out.String(), `hs256_secret: "********"`)
	require.Contains(t, out.String(), `# file `+file)
	masked := strings.ReplaceAll(out.String(), "postgres://u:"+secret, "") // store.url is one value in %v
	masked = strings.ReplaceAll(masked, "redis://:"+secret, "")
	require.NotContains(t, masked, secret)

	var printed strings.Builder
	require.NoError(t, Print(&printed, c, origin))
	require.NotContains(t, printed.String(), secret)
}

func TestPrintLoadsBack(t *testing.T) {
	var out strings.Builder
	c, origin, err := Load(Sources{})
	require.NoError(t, err)
	require.NoError(t, Print(&out, c, origin))
	again, _, err := Load(Sources{File: write(t, out.String())})
	require.NoError(t, err)
	require.Equal(t, c, again)
}

func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile(example)
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte("node: {listen: 1, name: [a]}\n? [x]\n: y\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("node: {<<: {name: n2}}\nauth: {api_keys: 'a,b', hs256_secret: !!binary aGk=}\n"))
	f.Add([]byte("presence: {stale_after: 2001-01-01, radius_m: .nan, mutual: ~}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := loading{config: Default(), origin: Origin{}}
		l.text("fuzz", text)
		_ = l.config.Validate()
		var out strings.Builder
		require.NoError(t, Print(&out, l.config, l.origin))
		for _, fault := range l.faults {
			require.NotEmpty(t, fault.Wrong)
			require.NotEmpty(t, fault.Do)
		}
	})
}
