package gateway

import (
	"errors"
	"fmt"
	"time"
)

// MinRadius is the smallest radius a client may ask for, metres.
const MinRadius = 100

// SocketConfig says how the WebSocket side behaves. Durations may be as short
// as milliseconds. Start from DefaultSocketConfig.
type SocketConfig struct {
	Node    string  // this node's name, told to clients
	Origins Origins // of browser pages that may connect
	Proxies Proxies // whose X-Forwarded-For is believed

	MaxFrameBytes int     // largest message of a client; 1 024 to 1 048 576
	FixesPerS     float64 // frames a second one connection may send for long; > 0
	FrameBurst    int     // frames one connection may send at once; at least 1
	BacklogPerS   float64 // fixes a second inside `fixes` frames, for long; > 0
	BacklogBurst  int     // fixes inside `fixes` frames at once; at least 1 000, the most of one frame

	MaxRadius   float64       // largest radius a client may ask for, metres; at least MinRadius
	FixInterval time.Duration // how often a client should send a fix; told to clients
	StaleAfter  time.Duration // how long a friend without a report is shown; told to clients

	ConnectWithin  time.Duration // from the upgrade to `connect`
	WelcomeWithin  time.Duration // from `connect` to the actor's answer
	CallWithin     time.Duration // for one call to the accounts
	PingEvery      time.Duration // of silence of the client; the first ping comes earlier, at random
	PongWithin     time.Duration // from a ping to any frame of the client
	ExpiringBefore time.Duration // the end of the token
	StallAfter     time.Duration // without a byte taken by the client; then it is closed as slow
	CloseWithin    time.Duration // from our close frame to the end of the connection
	RecoverWithin  time.Duration // over which clients with lost fixes are sent away once the database is back

	FlushBytes int           // written at once, about; 1 024 to 65 536. What waits longer is still replaced by newer
	SendBuffer int           // bytes of the kernel's send buffer, where nothing is replaced any more; 0 = the kernel's default
	Coalesce   time.Duration // how long changes of a view are gathered before they are written, at most 20 ms; 0 = not at all

	MaxConns     int     // at once; 0 = as many as there are file descriptors, less FileReserve
	ConnectsPerS float64 // upgrades a second on this node, twice as many at once; 0 = no limit
	IPConnects   float64 // upgrades a second from one address (IPv6: /64), five times as many at once; 0 = no limit. Loopback has none

	Now func() time.Time // nil = time.Now; deadlines of writes need the real time
}

// FileReserve is how many file descriptors are kept for other things than client
// connections.
const FileReserve = 64

// DefaultSocketConfig returns what the server is built for.
func DefaultSocketConfig() SocketConfig {
	return SocketConfig{
		Node: "n1", MaxFrameBytes: 65_536,
		FixesPerS: 5, FrameBurst: 50, BacklogPerS: 500, BacklogBurst: 10_000,
		MaxRadius: 50_000, FixInterval: 30 * time.Second, StaleAfter: 10 * time.Minute,
		ConnectWithin: 10 * time.Second, WelcomeWithin: 10 * time.Second, CallWithin: 5 * time.Second,
		PingEvery: 25 * time.Second, PongWithin: 8 * time.Second, ExpiringBefore: time.Minute,
		StallAfter: 10 * time.Second, CloseWithin: 2 * time.Second, RecoverWithin: 5 * time.Second,
		FlushBytes: 16 << 10, SendBuffer: 32 << 10,
		ConnectsPerS: 500, IPConnects: 20,
	}
}

// Validate returns all faults in one error.
func (c *SocketConfig) Validate() error {
	var faults []error
	check := func(ok bool, name string, must string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s must be %s", name, must))
		}
	}
	check(c.MaxFrameBytes >= 1024 && c.MaxFrameBytes <= 1<<20, "gateway.max_frame_bytes", "from 1024 to 1048576")
	check(c.FixesPerS > 0, "gateway.fixes_per_s", "above 0")
	check(c.FrameBurst >= 1, "FrameBurst", "at least 1")
	check(c.BacklogPerS > 0, "BacklogPerS", "above 0")
	check(c.BacklogBurst >= 1000, "BacklogBurst", "at least 1000")
	check(c.MaxRadius >= MinRadius, "presence.max_radius_m", "at least 100")
	for _, d := range []struct {
		name string
		of   time.Duration
	}{
		{"presence.fix_interval", c.FixInterval},
		{"presence.stale_after", c.StaleAfter},
		{"ConnectWithin", c.ConnectWithin},
		{"WelcomeWithin", c.WelcomeWithin},
		{"CallWithin", c.CallWithin},
		{"PingEvery", c.PingEvery},
		{"PongWithin", c.PongWithin},
		{"StallAfter", c.StallAfter},
		{"CloseWithin", c.CloseWithin},
	} {
		check(d.of >= time.Millisecond, d.name, "at least 1ms")
	}
	check(c.ExpiringBefore >= 0, "ExpiringBefore", "at least 0")
	check(c.RecoverWithin >= 0, "RecoverWithin", "at least 0")
	check(c.FlushBytes >= 1024 && c.FlushBytes <= 64<<10, "FlushBytes", "from 1024 to 65536")
	check(c.SendBuffer >= 0, "SendBuffer", "at least 0")
	check(c.Coalesce >= 0 && c.Coalesce <= 20*time.Millisecond, "Coalesce", "from 0 to 20ms")
	check(c.MaxConns >= 0, "MaxConns", "at least 0")
	check(c.ConnectsPerS >= 0, "ConnectsPerS", "at least 0")
	check(c.IPConnects >= 0, "IPConnects", "at least 0")
	return errors.Join(faults...)
}

// pulseEvery is how exactly deadlines are kept: to a fiftieth of the shortest
// ordinary one, but not below 1 ms nor above 100 ms.
func (c *SocketConfig) pulseEvery() time.Duration {
	shortest := min(c.PingEvery, c.PongWithin, c.ConnectWithin, c.CloseWithin)
	return min(max(shortest/50, time.Millisecond), 100*time.Millisecond)
}
