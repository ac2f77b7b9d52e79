package gateway

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// Close codes of clients, and of connections that end without one.
const (
	closeGoingAway presence.CloseCode = 1001
	closeNoStatus  presence.CloseCode = 1005
	closeAbnormal  presence.CloseCode = 1006
)

// phase is how far a connection has come.
type phase uint8

const (
	waitsForConnect phase = iota
	entering              // connect is being checked, or the actor has not answered
	open
	closing // the close frame is on its way; nothing is taken or pushed any more
	dead
)

// Conn is one client connection. Its reading goroutine owns it from the upgrade
// to the end; writing is done by a goroutine that exists only while something
// waits to be written. Many of these lie idle at once: keep it small.
type Conn struct {
	sockets *Sockets
	net     net.Conn
	id      presence.ConnID
	spoke   spoke
	in      reader

	// Of the reading goroutine.
	frames, backlog bucket
	flood           flood
	user            presence.UserID
	public          presence.PublicID
	device          presence.DeviceID
	attached        bool

	framesIn atomic.Uint32
	heard    atomic.Int64          // clock of the last frame of the client
	written  atomic.Int64          // bytes
	trace    atomic.Pointer[trace] // nil unless somebody looks at the user
	since    uint32                // clock of the start, in seconds; never changes

	framesOut uint32 // guarded by mu, as is what follows
	mu        sync.Mutex
	phase     phase
	code      presence.CloseCode // why it ends; 0 = does not
	flushing  bool               // a goroutine writes
	warned    bool               // of the end of the token
	said      bool               // our close frame is written
	told      bool               // the client's close frame has come
	pending   *pending           // what waits to be written; nil if nothing does
	entry     *entrance          // while entering
	version   uint64             // v of the last friends frame
	acks      acks
	pinged    time.Duration // clock of the ping that waits for an answer; 0 = none does
	taken     int64         // bytes that the client's side had taken then
	expires   time.Duration // clock of the end of the token; 0 = far away
	deadline  time.Duration // clock: of connect, or of the end when closing; 0 = none
	leaveAt   time.Duration // clock: when to send it away as overloaded; 0 = never
}

// entrance is what a connection needs between connect and the actor's answer.
type entrance struct {
	id    string        // of the connect message
	ready chan struct{} // closed by the answer, or by the end of the connection
}

// run reads until the connection ends. It is the connection's goroutine.
func (c *Conn) run() {
	defer c.sockets.hub.work.Done()
	defer c.end()
	for c.step() {
	}
}

// step keeps the stack of a waiting connection small: what a message needs is
// gone by the time the next one is waited for.
func (c *Conn) step() bool {
	if err := c.in.wait(c.net); err != nil {
		return false
	}
	return c.receive()
}

// end takes the connection out of everything. A panic ends only this one.
func (c *Conn) end() {
	hub := c.sockets.hub
	if v := recover(); v != nil {
		hub.panicked("reading", v)
		c.close(presence.Internal, "")
		c.in.discard(c.net) // until the close frame is written and answered, or its time is over
	}
	c.mu.Lock()
	c.phase = dead
	code := c.code
	if code == 0 {
		code = closeAbnormal
	}
	hub.metrics.waitingAcks.Sub(float64(c.acks.waiting()))
	c.release()
	c.drop()
	c.mu.Unlock()
	c.hangUp()
	if t := c.trace.Swap(nil); t != nil {
		t.note(c, false, "closed", strconv.Itoa(int(code)))
		t.leave(c)
	}
	c.in.free()
	hub.pulse.disarm(c)
	hub.conns.take(c.id)
	hub.metrics.conns.Dec()
	hub.metrics.closed(code)
	hub.open.Add(-1)
	if c.attached {
		c.sockets.ports.Live.Detach(c.user, c.id)
	}
}

// close begins the end: what waits is written, then a close frame with the
// reason ("" = the code's own sentence), and the client has CloseWithin to
// answer it.
func (c *Conn) close(code presence.CloseCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked(code, reason)
}

func (c *Conn) closeLocked(code presence.CloseCode, reason string) {
	if c.phase >= closing {
		return
	}
	if reason == "" {
		info, _ := wire.CloseInfo(code)
		reason = info.Sentence
	}
	c.phase, c.code = closing, code
	p := c.waiting()
	p.view.reset()
	p.final = appendClose(p.final[:0], code, reason)
	c.release()
	c.wake()
	hub := c.sockets.hub
	c.deadline = hub.clock() + hub.cfg.CloseWithin
	hub.pulse.arm(c, c.deadline)
}

// answerClose deals with the client's close frame: the code goes back, unless
// ours is on its way already. When both are through the connection ends.
func (c *Conn) answerClose(code presence.CloseCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = true
	c.closeLocked(code, " ")
	if c.said {
		c.hangUp()
	}
}

// unackedFor is how long the kernel keeps what the client's side has not taken
// of an ended connection.
const unackedFor = 30 * time.Second

// hangUp closes the socket. Only now is the kernel told when to give up: while a
// connection lives, that would end a client that reads slowly through a small
// window, since Linux counts its timeout on until the window takes all that waits
// in one buffer, whatever the client takes meanwhile. Pings and StallAfter find
// those who are gone or stuck.
func (c *Conn) hangUp() {
	giveUpAfter(c.net, unackedFor)
	_ = c.net.Close()
}

// kill ends the connection without a word.
func (c *Conn) kill() {
	c.mu.Lock()
	if c.phase < closing {
		c.phase, c.code = closing, closeAbnormal
	}
	c.release()
	c.mu.Unlock()
	c.hangUp()
}

// release lets whoever waits for the actor or for room in the queue go on.
func (c *Conn) release() {
	if c.entry != nil {
		close(c.entry.ready)
		c.entry = nil
	}
	if c.pending != nil {
		c.pending.makeRoom()
	}
}

// rest reads nothing for a while, or until the connection ends.
func (c *Conn) rest(d time.Duration) {
	const look = 50 * time.Millisecond
	for ; d > 0 && c.alive(); d -= look {
		time.Sleep(min(d, look))
	}
}

// alive reports whether the connection still takes messages.
func (c *Conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase < closing
}

// onPulse does what is due and arms the pulse for what is next.
func (c *Conn) onPulse(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.phase {
	case dead:
		return
	case closing:
		if now >= c.deadline {
			c.hangUp()
			return
		}
	case waitsForConnect:
		if now >= c.deadline {
			c.closeLocked(presence.ConnectTimeout, "")
			return
		}
	case entering:
		if now >= c.deadline {
			c.closeLocked(presence.Overloaded, "")
			return
		}
	case open:
		if c.pulseOpen(now); c.phase != open {
			return
		}
	}
	c.sockets.hub.pulse.arm(c, c.next())
}

func (c *Conn) pulseOpen(now time.Duration) {
	cfg := &c.sockets.hub.cfg
	heard := time.Duration(c.heard.Load())
	if c.pinged != 0 && heard > c.pinged {
		c.pinged = 0
	}
	switch {
	case c.leaveAt != 0 && now >= c.leaveAt:
		c.closeLocked(presence.Overloaded, "Some of your fixes could not be stored; connect again and send what was not acknowledged.")
		return
	case c.expires != 0 && now >= c.expires:
		c.closeLocked(presence.TokenExpired, "")
		return
	case c.pinged != 0 && now >= c.pinged+cfg.PongWithin:
		if !c.reading() {
			c.closeLocked(presence.NoPong, "")
			return
		}
		c.pinged = now
	}
	if c.expires != 0 && !c.warned && now >= c.expires-cfg.ExpiringBefore {
		c.warned = true
		c.post(wire.AppendExpiring)
	}
	if c.phase == open && c.pinged == 0 && now >= heard+cfg.PingEvery {
		c.pinged = now
		_, c.taken = c.progress()
		c.post(wire.AppendPing)
	}
}

// reading reports whether a client that has not answered a ping cannot have got
// it yet, because it still takes what was written before it.
func (c *Conn) reading() bool {
	if c.flushing {
		return true // a flush that makes no progress ends the connection itself
	}
	queued, taken := c.progress()
	moved := queued > 0 && taken > c.taken
	c.taken = taken
	return moved
}

// progress says how many bytes wait in the kernel, and how many the client's
// side has acknowledged.
func (c *Conn) progress() (queued int, taken int64) {
	queued = unsent(c.net)
	return queued, c.written.Load() - int64(queued)
}

// next is when something is due for the connection.
func (c *Conn) next() time.Duration {
	if c.phase != open {
		return c.deadline
	}
	cfg := &c.sockets.hub.cfg
	next := time.Duration(c.heard.Load()) + cfg.PingEvery
	if c.pinged != 0 {
		next = c.pinged + cfg.PongWithin
	}
	if c.leaveAt != 0 {
		next = min(next, c.leaveAt)
	}
	if c.expires != 0 {
		next = min(next, c.expires)
		if !c.warned {
			next = min(next, c.expires-cfg.ExpiringBefore)
		}
	}
	return next
}

// appendClose appends a close frame; the reason is cut to what fits.
func appendClose(b []byte, code presence.CloseCode, reason string) []byte {
	if code == closeNoStatus {
		return append(b, ws.CompiledClose...)
	}
	const most = ws.MaxControlFramePayloadSize - 2
	if reason == " " {
		reason = ""
	}
	reason = reason[:min(len(reason), most)]
	b = append(b, 0x80|byte(ws.OpClose), byte(2+len(reason)), byte(code>>8), byte(code))
	return append(b, reason...)
}
