package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

var decoded = sync.Pool{New: func() any { return new(wire.Frame) }}

// message deals with one message of the client.
func (c *Conn) message(b []byte) {
	f := decoded.Get().(*wire.Frame)
	bad := wire.Decode(b, f)
	c.sockets.hub.metrics.framesIn[f.Type].Inc()
	c.noteFrame(f, bad)
	c.dispatch(f, bad)
	if cap(f.Fixes) > 64 {
		f.Fixes = nil
	}
	*f = wire.Frame{Fixes: f.Fixes[:0]} // no token stays in the pool
	decoded.Put(f)
}

func (c *Conn) dispatch(f *wire.Frame, bad *wire.Error) {
	hub := c.sockets.hub
	if !c.attached {
		switch {
		case bad != nil:
			c.refuse(bad)
		case f.Type == wire.Connect:
			c.connect(f)
		default:
			c.fail(f, wire.NewError(wire.NotConnected, "", ""))
		}
		return
	}
	if f.Type != wire.Pong && !c.frames.take(hub.clock(), hub.cfg.FixesPerS, float64(hub.cfg.FrameBurst), 1) && bad == nil {
		bad = tooOften(f)
		if f.Type == wire.Fixes {
			c.refuseAll(f, bad)
			return
		}
	}
	if bad != nil {
		if f.Type == wire.Fix {
			hub.metrics.refusedFixes[bad.Code].Inc()
		}
		c.refuse(bad)
		return
	}
	c.take(f)
}

// take is the table of what a connected client may send.
func (c *Conn) take(f *wire.Frame) {
	switch f.Type {
	case wire.Fix:
		c.takeFix(f)
	case wire.Fixes:
		c.takeFixes(f)
	case wire.Still:
		c.takeStill(f)
	case wire.Radius:
		c.takeRadius(f)
	case wire.Friend:
		c.call(f, func(ctx context.Context) error {
			return c.sockets.ports.Accounts.Friend(ctx, c.user, FriendOp(f.Op), f.User)
		})
	case wire.Share:
		c.takeShare(f)
	case wire.Token:
		c.takeToken(f)
	case wire.Strangers, wire.Room:
		sentence := fmt.Sprintf("This node does not serve %s messages.", f.Type)
		e := wire.NewError(wire.Unavailable, "", sentence)
		e.Temporary = false
		c.fail(f, e)
	case wire.Connect:
		c.fail(f, wire.NewError(wire.Conflict, "", "This connection is connected already; open another one."))
	case wire.Pong:
	}
}

func tooOften(f *wire.Frame) *wire.Error {
	e := wire.NewError(wire.TooMany, "", "")
	e.ID = f.ID
	if f.Fix.Has&wire.FixSeq != 0 {
		e.Seq, e.HasSeq = f.Fix.Seq, true
	}
	return e
}

// refuse sends an error.
func (c *Conn) refuse(e *wire.Error) {
	c.sockets.hub.metrics.errors[e.Code].Inc()
	c.answer(func(b []byte) []byte { return wire.AppendError(b, e) })
}

// fail sends an error about f.
func (c *Conn) fail(f *wire.Frame, e *wire.Error) {
	e.ID = f.ID
	c.refuse(e)
}

func (c *Conn) ok(f *wire.Frame) {
	id := f.ID
	c.answer(func(b []byte) []byte { return wire.AppendOK(b, id) })
}

// answerBytes queues bytes that are a frame already.
func (c *Conn) answerBytes(frame []byte) {
	c.enqueue(func(p *pending) { p.events = append(p.events, frame...) })
	c.noteSent("pong", noNote)
}

func (c *Conn) now() time.Time { return c.sockets.hub.cfg.Now() }

// connect lets the client in. An error of a field leaves it where it was; a
// token that is not accepted closes the connection.
func (c *Conn) connect(f *wire.Frame) {
	hub := c.sockets.hub
	radius, bad := c.radius(f.RadiusM)
	if bad != nil {
		c.fail(f, bad)
		return
	}
	claims, err := c.sockets.auth.User(f.Token, c.now())
	switch {
	case errors.Is(err, ErrExpired):
		c.reject(f, wire.NewError(wire.Unauthorized, "token", err.Error()), presence.TokenExpired)
		return
	case err != nil:
		c.reject(f, wire.NewError(wire.Unauthorized, "token", err.Error()), presence.Unauthorized)
		return
	}
	hub.traces.meet(c, claims.User)
	ready := make(chan struct{})
	if !c.enter(&entrance{id: f.ID, ready: ready}) {
		return
	}
	ctx, cancel := context.WithTimeout(hub.ctx, hub.cfg.CallWithin)
	c.user, err = c.sockets.ports.Accounts.Login(ctx, claims.User)
	cancel()
	switch {
	case errors.Is(err, ErrNotFound):
		c.reject(f, wire.NewError(wire.Unauthorized, "token", "The token is valid, but its user does not exist here; ask the operator to create it."), presence.Unauthorized)
		return
	case err != nil:
		c.reject(f, portError(err), presence.Overloaded)
		return
	}
	c.public, c.device, c.attached = claims.User, f.Device, true
	c.mu.Lock()
	c.expires = c.endOf(claims)
	c.mu.Unlock()
	c.sockets.ports.Live.Attach(c.user, c.id, c.device, radius)
	<-ready // of the answer, or of the end
	c.tellRequests()
}

// enter marks that connect is being dealt with.
func (c *Conn) enter(e *entrance) bool {
	hub := c.sockets.hub
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != waitsForConnect {
		return false
	}
	c.phase, c.entry = entering, e
	c.deadline = hub.clock() + hub.cfg.CallWithin + hub.cfg.WelcomeWithin
	hub.pulse.arm(c, c.deadline)
	return true
}

// reject sends an error and closes.
func (c *Conn) reject(f *wire.Frame, e *wire.Error, code presence.CloseCode) {
	c.fail(f, e)
	c.close(code, e.Message)
}

// endOf is when, by the hub's clock, a token ends: at its exp, or, if only the
// leeway let it in, at the end of that.
func (c *Conn) endOf(claims Claims) time.Duration {
	const farAway = 10 * 365 * 24 * time.Hour
	left := claims.Expires.Sub(c.now())
	if left <= 0 {
		left += tokenLeeway
	}
	if left > farAway {
		return 0
	}
	return max(c.sockets.hub.clock()+left, 1)
}

// radius checks a radius that a client asks for; 0 = it asks for none.
func (c *Conn) radius(metres float64) (float32, *wire.Error) {
	if math.IsNaN(metres) {
		return 0, nil
	}
	most := c.sockets.hub.cfg.MaxRadius
	if metres < MinRadius || metres > most {
		return 0, wire.NewError(wire.BadField, "radius_m", fmt.Sprintf("radius_m goes from %d to %.0f metres.", MinRadius, most))
	}
	return float32(metres), nil
}

// welcome is the actor's answer to connect. It precedes everything else.
func (c *Conn) welcome(w *presence.Welcome) {
	hub := c.sockets.hub
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != entering || c.entry == nil {
		return
	}
	answer := wire.Connected{
		ID: c.entry.id, User: c.public, Node: hub.cfg.Node, Session: w.Session, Now: millis(c.now()),
		Settings: wire.Settings{
			RadiusM: float64(w.Radius), ExitRadiusM: float64(w.ExitRadius),
			FixS: hub.cfg.FixInterval.Seconds(), StaleS: hub.cfg.StaleAfter.Seconds(), PingS: hub.cfg.PingEvery.Seconds(),
			MaxFrameBytes: hub.cfg.MaxFrameBytes,
		},
	}
	c.phase = open
	c.post(func(b []byte) []byte { return wire.AppendConnected(b, &answer) })
	now := hub.clock()
	// As if the client had been silent for a while, a different one for each:
	// clients that came together are not pinged together.
	c.heard.Store(int64(now - time.Duration(rand.Int64N(int64(hub.cfg.PingEvery)))))
	hub.metrics.connects.Inc()
	hub.pulse.arm(c, c.next())
	close(c.entry.ready)
	c.entry = nil
}

// mostRequests is how many friend requests a client is told of when it connects.
const mostRequests = 100

// tellRequests tells the client who waits for an answer. What cannot be read is
// told at the next connect.
func (c *Conn) tellRequests() {
	hub := c.sockets.hub
	if !c.alive() {
		return
	}
	ctx, cancel := context.WithTimeout(hub.ctx, hub.cfg.CallWithin)
	waiting, err := c.sockets.ports.Accounts.Requests(ctx, c.user)
	cancel()
	if err != nil {
		return
	}
	for _, user := range waiting[:min(len(waiting), mostRequests)] {
		c.answer(func(b []byte) []byte {
			return wire.AppendNotice(b, presence.Notice{Kind: presence.Requested, User: user})
		})
	}
}

func (c *Conn) takeRadius(f *wire.Frame) {
	radius, bad := c.radius(f.RadiusM)
	if bad != nil {
		c.fail(f, bad)
		return
	}
	c.ok(f) // before the view that follows from it
	c.sockets.ports.Live.SetRadius(c.user, radius)
}

func (c *Conn) takeShare(f *wire.Frame) {
	if f.Until != 0 && f.Until <= millis(c.now()) {
		c.fail(f, wire.NewError(wire.BadTime, "until", "until has passed."))
		return
	}
	c.call(f, func(ctx context.Context) error {
		return c.sockets.ports.Accounts.Share(ctx, c.user, f.User, f.Mode, f.Until)
	})
}

// call makes one call to the accounts and answers with how it went. Meanwhile
// nothing is read from the client.
func (c *Conn) call(f *wire.Frame, do func(context.Context) error) {
	hub := c.sockets.hub
	ctx, cancel := context.WithTimeout(hub.ctx, hub.cfg.CallWithin)
	defer cancel()
	if err := do(ctx); err != nil {
		c.fail(f, portError(err))
		return
	}
	c.ok(f)
}

func (c *Conn) takeToken(f *wire.Frame) {
	claims, err := c.sockets.auth.User(f.Token, c.now())
	switch {
	case err != nil:
		c.fail(f, wire.NewError(wire.Unauthorized, "token", err.Error()))
		return
	case claims.User != c.public:
		c.fail(f, wire.NewError(wire.Forbidden, "token", "The token is another user's; open another connection for that user."))
		return
	}
	c.mu.Lock()
	if c.phase == open {
		c.expires, c.warned = c.endOf(claims), false
		c.sockets.hub.pulse.arm(c, c.next())
	}
	c.mu.Unlock()
	c.ok(f)
}
