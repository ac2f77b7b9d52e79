package config

import "time"

// Config is all that can be set. The koanf tags are the keys of the YAML file;
// an environment variable is KITH_ and the key in capitals with _ for the dots.
type Config struct {
	Node     Node     `koanf:"node"`
	Auth     Auth     `koanf:"auth"`
	Gateway  Gateway  `koanf:"gateway"`
	Presence Presence `koanf:"presence"`
	Store    Store    `koanf:"store"`
	UI       UI       `koanf:"ui"`
	Log      Log      `koanf:"log"`
	Redis    Redis    `koanf:"redis"`
	Cluster  Cluster  `koanf:"cluster"`
	Liveness Liveness `koanf:"liveness"`
}

// Node is this process.
type Node struct {
	// Name of the node, 1 to 64 characters of a-z 0-9 -; unique in a cluster.
	Name string `koanf:"name"`
	// Listen is the public address, HOST:PORT. Host empty = every interface,
	// port 0 = any free one.
	Listen string `koanf:"listen"`
	// Admin is the address of metrics, pprof and the operator's calls. Whoever
	// reaches it may drain the node.
	Admin string `koanf:"admin"`
	// Data is the directory for what the node keeps; made if it is not there.
	Data string `koanf:"data"`
	// PublicURL is how clients reach the node, http(s)://…; "" = http://Listen.
	PublicURL string `koanf:"public_url"`
	// DrainWithin is the longest that a drain may take before the node ends
	// anyway. Clients are told to go over half of it.
	DrainWithin time.Duration `koanf:"drain_within"`
}

// Auth is who may come in.
type Auth struct {
	// HS256Secret signs user tokens; at least 32 bytes (RFC 7518, 3.2).
	HS256Secret Secret `koanf:"hs256_secret"`
	// JWKSURL is where the keys of RS256 and ES256 tokens are; "" = none.
	JWKSURL string `koanf:"jwks_url"`
	// APIKeys are the operator's, at least 16 bytes each; none = the operator's
	// calls are closed.
	APIKeys []Secret `koanf:"api_keys"`
	// AutoCreate makes a user with a valid token at the first connect.
	AutoCreate bool `koanf:"auto_create"`
}

// Gateway is the edge: sockets and HTTP.
type Gateway struct {
	// Origins are the browser origins let in ("https://example.com"); none =
	// only clients that send no Origin.
	Origins []string `koanf:"origins"`
	// MaxFrameBytes is the largest message of a client, 1 024 to 1 048 576.
	MaxFrameBytes int `koanf:"max_frame_bytes"`
	// FixesPerS is how many fixes a second one connection may send for long.
	FixesPerS float64 `koanf:"fixes_per_s"`
	// TrustedProxies are addresses and ranges ("10.0.0.0/8") of proxies whose
	// X-Forwarded-For is believed; none = the peer is the client.
	TrustedProxies []string `koanf:"trusted_proxies"`
	// ConnectsPerS is how many new connections a second the node takes, twice as
	// many at once; 0 = no limit.
	ConnectsPerS float64 `koanf:"connects_per_s"`
	// IPConnectsPerS is the same for one address (IPv6: one /64), five times as
	// many at once; 0 = no limit. Loopback has none.
	IPConnectsPerS float64 `koanf:"ip_connects_per_s"`
}

// Presence is the rules of who is seen.
type Presence struct {
	// RadiusM is how near a friend must be to be shown, metres, if the client
	// does not say; 8 047 m are 5 miles.
	RadiusM float64 `koanf:"radius_m"`
	// MaxRadiusM is the most that a client may ask for, metres; at most 120 000.
	MaxRadiusM float64 `koanf:"max_radius_m"`
	// FixInterval is how often clients are asked to send a fix.
	FixInterval time.Duration `koanf:"fix_interval"`
	// StaleAfter is how long a user is shown after the last fix or still.
	StaleAfter time.Duration `koanf:"stale_after"`
	// OfflineGrace is how long a user stays after the last connection closed;
	// 0 = gone at once.
	OfflineGrace time.Duration `koanf:"offline_grace"`
	// Mutual: a user sees only those friends with whom they themselves share.
	Mutual bool `koanf:"mutual"`
	// MaxSpeedMPS in m/s: a fix that would need more is held for JumpHold, in case
	// the next one says that it was a mistake; 0 = every fix is believed at once.
	MaxSpeedMPS float64 `koanf:"max_speed_mps"`
	// JumpHold is how long such a fix is held; 0 = every fix is believed at once.
	JumpHold time.Duration `koanf:"jump_hold"`
}

// Store is where users and history are kept.
type Store struct {
	// URL is sqlite:FILE; a relative FILE is inside node.data.
	URL string `koanf:"url"`
	// Retention is how long fixes are kept; 0 = for ever.
	Retention time.Duration `koanf:"retention"`
}

// UI is the map page on the public port.
type UI struct {
	// Enabled serves it.
	Enabled bool `koanf:"enabled"`
	// TilesURL is where the page's map tiles come from, https://… with {z}, {x}
	// and {y}; "" = none: outlines of the land and a grid, and the page loads
	// nothing from elsewhere. Whoever serves the tiles learns where users look.
	TilesURL string `koanf:"tiles_url"`
	// TilesAttribution is what the map says of the source of its tiles.
	TilesAttribution string `koanf:"tiles_attribution"`
}

// Log is what the node says on stderr.
type Log struct {
	// Level is the least that is printed: debug, info, warn or error.
	Level string `koanf:"level"`
	// Format is text, json, or auto: text in a terminal, JSON elsewhere.
	Format string `koanf:"format"`
}

// Redis makes a cluster of nodes. This version takes none: one node, in
// memory-only mode.
type Redis struct {
	// URL of the liveness and room keys, redis://…; "" = memory-only mode.
	URL string `koanf:"url"`
	// CacheURLs of the location cache; none = URL.
	CacheURLs []string `koanf:"cache_urls"`
	// Stage is part of every key: 1 to 32 characters of a-z 0-9 -.
	Stage string `koanf:"stage"`
}

// Cluster is how nodes find each other. Not used in memory-only mode.
type Cluster struct {
	// Gossip is the address of memberlist.
	Gossip string `koanf:"gossip"`
	// Link is the address of the streams between nodes.
	Link string `koanf:"link"`
	// Join lists gossip addresses of other nodes; none = alone.
	Join []string `koanf:"join"`
	// Secret encrypts gossip and opens links.
	Secret Secret `koanf:"secret"`
}

// Liveness is how a dead node is told from a slow one. Not used in memory-only
// mode.
type Liveness struct {
	// Heartbeat is how often an instance says that it lives.
	Heartbeat time.Duration `koanf:"heartbeat"`
	// TTL is how long an instance may serve without an acknowledged heartbeat.
	TTL time.Duration `koanf:"ttl"`
	// Stale is the age of a heartbeat from which on an instance is suspected:
	// 1.5 × TTL.
	Stale time.Duration `koanf:"stale"`
	// Confirm is the time between the two looks that a verdict needs.
	Confirm time.Duration `koanf:"confirm"`
	// Lease is how long one leads the reaping; at least 3 × Renew.
	Lease time.Duration `koanf:"lease"`
	// Renew is how often the leader renews the lease.
	Renew time.Duration `koanf:"renew"`
	// Unknown is when one whom gossip never knew counts as dead.
	Unknown time.Duration `koanf:"unknown"`
	// Grace is how long nothing is deleted after an outage of Redis.
	Grace time.Duration `koanf:"grace"`
}

// Default returns the settings of a node for which nothing is set.
func Default() Config {
	return Config{
		Node: Node{Name: "n1", Listen: ":8080", Admin: "127.0.0.1:9090", Data: "./data", DrainWithin: 30 * time.Second},
		Auth: Auth{APIKeys: []Secret{}},
		Gateway: Gateway{
			Origins: []string{}, MaxFrameBytes: 65536, FixesPerS: 5,
			TrustedProxies: []string{}, ConnectsPerS: 500, IPConnectsPerS: 20,
		},
		Presence: Presence{
			RadiusM: 8047, MaxRadiusM: 50_000, FixInterval: 30 * time.Second,
			StaleAfter: 10 * time.Minute, OfflineGrace: 30 * time.Second, Mutual: true, MaxSpeedMPS: 100, JumpHold: time.Second,
		},
		Store:   Store{URL: "sqlite:kith.db"},
		UI:      UI{Enabled: true},
		Log:     Log{Level: "info", Format: "auto"},
		Redis:   Redis{CacheURLs: []string{}, Stage: "dev"},
		Cluster: Cluster{Gossip: ":7946", Link: ":7947", Join: []string{}},
		Liveness: Liveness{
			Heartbeat: 5 * time.Second, TTL: 30 * time.Second, Stale: 45 * time.Second, Confirm: time.Minute,
			Lease: 90 * time.Second, Renew: 30 * time.Second, Unknown: 5 * time.Minute, Grace: 50 * time.Second,
		},
	}
}
