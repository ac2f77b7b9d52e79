package gateway

import (
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gobwas/ws"
	"golang.org/x/time/rate"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// Subprotocol is what clients may ask for; none is the same.
const Subprotocol = "kith.v1.json"

// SocketPorts is what the WebSocket side needs of the rest.
type SocketPorts struct {
	Live      Live
	Accounts  Accounts
	Readiness Readiness
}

// Sockets takes WebSocket connections: an http.Handler for GET /v1/ws.
type Sockets struct {
	hub   *Hub
	ports SocketPorts
	auth  *Auth
	most  int // connections at once
	node  *rate.Limiter
	byIP  *allowances
	up    ws.HTTPUpgrader
}

// rememberedIPs is how many addresses the limit for one address remembers at
// least.
const rememberedIPs = 16_384

// NewSockets returns the handler. The hub is made first, since the actors' host
// needs it before there is a Live.
func NewSockets(hub *Hub, ports SocketPorts, auth *Auth) *Sockets {
	cfg := &hub.cfg
	s := &Sockets{
		hub: hub, ports: ports, auth: auth, most: cfg.MaxConns, node: limiter(cfg.ConnectsPerS, 2),
		byIP: newAllowances(rememberedIPs, func() *allowance { return &allowance{requests: limiter(cfg.IPConnects, 5)} }),
		up:   ws.HTTPUpgrader{Timeout: 5 * time.Second, Protocol: func(p string) bool { return p == Subprotocol }},
	}
	if files := openFiles() - FileReserve; files > 0 && (s.most == 0 || files < s.most) {
		s.most = files
	}
	return s
}

func limiter(perS, times float64) *rate.Limiter {
	if perS == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perS), max(1, int(times*perS)))
}

// ServeHTTP upgrades the request, or refuses it with a Problem. It returns as
// soon as the connection has its own goroutine, so that the server's buffers of
// the request are given back.
func (s *Sockets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason, p := s.mayConnect(r); p != nil {
		s.hub.metrics.refusedUpgrades.WithLabelValues(reason).Inc()
		p.write(w)
		return
	}
	if !s.admit() {
		s.hub.metrics.refusedUpgrades.WithLabelValues("full").Inc()
		comeBack("this node has as many connections as it can hold; try again").write(w)
		return
	}
	if !s.start(w, r) {
		s.hub.open.Add(-1)
		s.hub.metrics.refusedUpgrades.WithLabelValues("handshake").Inc()
	}
}

func (s *Sockets) admit() bool {
	if n := s.hub.open.Add(1); s.most > 0 && n > int64(s.most) {
		s.hub.open.Add(-1)
		return false
	}
	return true
}

// mayConnect checks what can be checked before the upgrade.
func (s *Sockets) mayConnect(r *http.Request) (reason string, _ *Problem) {
	now := s.hub.cfg.Now()
	switch {
	case s.hub.draining.Load():
		return "not_ready", comeBack("this node is draining; try again")
	case s.ports.Readiness.NotReady() != "":
		return "not_ready", comeBack("this node is not ready (" + s.ports.Readiness.NotReady() + "); try again")
	case !s.hub.cfg.Origins.Allows(r):
		return "origin", newProblem(http.StatusForbidden, wire.Forbidden, "pages of this origin may not connect; add it to gateway.origins")
	case !offersOurs(r.Header.Values("Sec-WebSocket-Protocol")):
		p := newProblem(http.StatusBadRequest, wire.BadField, "none of the offered subprotocols is served; offer %s, or none", Subprotocol)
		p.Field = "Sec-WebSocket-Protocol"
		return "subprotocol", p
	case !s.ipMay(r, now), !s.node.AllowN(now, 1):
		return "rate", comeBack("too many connections are being opened; try again")
	}
	return "", nil
}

// comeBack is a refusal for now. Retry-After differs, so that those refused
// together do not come back together.
func comeBack(detail string) *Problem {
	return unavailable(detail).retryAfter(time.Second + time.Duration(rand.Int64N(int64(4*time.Second))))
}

func offersOurs(offers []string) bool {
	none := true
	for _, list := range offers {
		for offer := range strings.SplitSeq(list, ",") {
			offer = strings.TrimSpace(offer)
			if offer == Subprotocol {
				return true
			}
			none = none && offer == ""
		}
	}
	return none
}

// ipMay reports whether one more connection may come from where r came from. An
// address on this machine stands for a proxy that is not known as one, and may
// stand for many clients.
func (s *Sockets) ipMay(r *http.Request, now time.Time) bool {
	if s.hub.cfg.IPConnects == 0 {
		return true
	}
	ip, ok := s.hub.cfg.Proxies.Client(r)
	if !ok || ip.IsLoopback() {
		return true
	}
	if ip.Is6() {
		prefix, _ := ip.WithZone("").Prefix(64) // never fails for 64 of 128 bits
		ip = prefix.Addr()
	}
	return s.byIP.of(ip.String()).requests.AllowN(now, 1)
}

// start upgrades the request and starts the connection's goroutine.
func (s *Sockets) start(w http.ResponseWriter, r *http.Request) bool {
	nc, rw, _, err := s.up.Upgrade(r, w)
	if err != nil {
		if nc != nil {
			_ = nc.Close()
		}
		return false
	}
	var early []byte
	if n := rw.Reader.Buffered(); n > 0 { // the client did not wait for our answer
		early, _ = rw.Reader.Peek(n)
	}
	if s.adopt(nc, early) == nil {
		_ = nc.Close()
		return false
	}
	return true
}

// adopt starts the connection's goroutine; early is what was read from it
// already. Nil if the hub is closed.
func (s *Sockets) adopt(nc net.Conn, early []byte) *Conn {
	hub := s.hub
	if hub.begin() != nil {
		return nil
	}
	s.prepare(nc)
	now := hub.clock()
	c := &Conn{sockets: s, net: nc, id: presence.ConnID(hub.connIDs.Add(1)), deadline: now + hub.cfg.ConnectWithin, since: uint32(now / time.Second)}
	c.spoke.conn = c
	c.in.give(early)
	c.heard.Store(int64(now))
	hub.conns.put(c.id, c)
	hub.metrics.conns.Inc()
	hub.metrics.upgrades.Inc()
	hub.pulse.arm(c, c.deadline)
	if hub.ctx.Err() != nil { // Stop may have looked before the connection was there
		c.kill()
	}
	go c.run()
	return c
}

func (s *Sockets) prepare(nc net.Conn) {
	_ = nc.SetDeadline(time.Time{}) // the server's deadlines for requests
	if size := s.hub.cfg.SendBuffer; size > 0 {
		if b, ok := nc.(interface{ SetWriteBuffer(int) error }); ok {
			_ = b.SetWriteBuffer(size)
		}
	}
}
