package gateway

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// maxEvents is how many answers and notices wait for one client at most. They
// cannot be conflated, so a client that leaves more unread is closed as slow.
const maxEvents = 64

// pending is what waits to be written to one client. It exists only while
// something does.
type pending struct {
	events []byte // whole frames, in order
	count  int    // of events
	ack    uint64
	acks   bool // ack is to be sent
	view   view
	final  []byte        // the close frame, after which nothing comes
	room   chan struct{} // closed when events are taken; nil = nobody waits
}

var pendings = sync.Pool{New: func() any { return new(pending) }}

func (p *pending) makeRoom() {
	if p.room != nil {
		close(p.room)
		p.room = nil
	}
}

// appendText appends one text frame with what build appends.
func appendText(b []byte, build func([]byte) []byte) []byte {
	b, at := beginText(b)
	return endText(build(b), at)
}

// textHeader is the room kept for the header of a text frame of up to 65 535
// bytes (RFC 6455, 5.2).
const textHeader = 4

func beginText(b []byte) (_ []byte, at int) {
	return append(b, 0, 0, 0, 0), len(b)
}

// endText puts the header before a text frame's payload.
func endText(b []byte, at int) []byte {
	payload := len(b) - at - textHeader
	head := b[at:]
	head[0] = 0x80 | byte(ws.OpText)
	switch {
	case payload < 126:
		head[1] = byte(payload)
		copy(head[2:], head[textHeader:])
		return b[:len(b)-2]
	case payload <= 0xffff:
		head[1] = 126
		binary.BigEndian.PutUint16(head[2:], uint16(payload))
		return b
	}
	b = append(b, 0, 0, 0, 0, 0, 0)
	head = b[at:]
	copy(head[textHeader+6:], head[textHeader:textHeader+payload])
	head[1] = 127
	binary.BigEndian.PutUint64(head[2:], uint64(payload))
	return b
}

// waiting returns what waits for the client, made now if nothing did. The
// caller holds c.mu and calls wake.
func (c *Conn) waiting() *pending {
	if c.pending == nil {
		c.pending = pendings.Get().(*pending)
	}
	return c.pending
}

// drop forgets what waits.
func (c *Conn) drop() {
	p := c.pending
	if p == nil {
		return
	}
	c.pending = nil
	p.makeRoom()
	p.view.reset()
	events, final := p.events[:0], p.final[:0]
	if cap(events) > 16<<10 {
		events = nil
	}
	*p = pending{events: events, final: final, view: view{entries: p.view.entries}}
	pendings.Put(p)
}

// wake starts the writing goroutine if there is none. The caller holds c.mu.
func (c *Conn) wake() {
	if c.flushing || c.phase == dead {
		return
	}
	c.flushing = true
	c.sockets.hub.work.Add(1) // not 0 before: the reading goroutine is counted too
	go c.flush()
}

// post queues a frame that the client did not ask for. The caller holds c.mu.
func (c *Conn) post(build func([]byte) []byte) {
	if c.phase >= closing {
		return
	}
	p := c.waiting()
	if p.count >= maxEvents {
		c.closeLocked(presence.Slow, "More than 64 answers and notices were left unread.")
		return
	}
	c.event(p, build)
	p.count++
	c.wake()
}

// event appends a text frame to what waits. The caller holds c.mu.
func (c *Conn) event(p *pending, build func([]byte) []byte) {
	from := len(p.events)
	p.events = appendText(p.events, build)
	c.noteText(p.events[from:])
}

// answer queues an answer to the client.
func (c *Conn) answer(build func([]byte) []byte) {
	c.enqueue(func(p *pending) { c.event(p, build) })
}

// enqueue queues one frame that add appends. It is called by the reading
// goroutine, which waits while the queue is full: who does not read answers is
// not read from either.
func (c *Conn) enqueue(add func(*pending)) {
	for room := c.offer(add); room != nil; room = c.offer(add) {
		<-room
	}
}

// offer queues a frame, or returns what is closed when there may be room for it.
func (c *Conn) offer(add func(*pending)) (room <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock() // also if add panics
	if c.phase >= closing {
		return nil
	}
	p := c.waiting()
	if p.count < maxEvents {
		add(p)
		p.count++
		c.wake()
		return nil
	}
	if p.room == nil {
		p.room = make(chan struct{})
	}
	return p.room
}

func (c *Conn) push(change *presence.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != open {
		return
	}
	p := c.waiting()
	if n := p.view.apply(change); n > 0 {
		c.sockets.hub.metrics.conflated.Add(float64(n))
	}
	if p.view.empty() && p.count == 0 && !p.acks && !c.flushing {
		c.drop()
		return
	}
	c.wake()
}

func (c *Conn) notify(n presence.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == open {
		c.post(func(b []byte) []byte { return wire.AppendNotice(b, n) })
	}
}

// acknowledge queues an ack; one that waits already is replaced, since acks are
// cumulative. The caller holds c.mu.
func (c *Conn) acknowledge(seq uint64) {
	if c.phase != open {
		return
	}
	p := c.waiting()
	p.ack, p.acks = seq, true
	c.wake()
}

// batch is what a flush has taken to write.
type batch struct {
	buf   []byte
	near  []presence.Near
	gone  []presence.Gone
	fresh []presence.Micros // when what nobody was told before had arrived
	final bool
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// flush writes until nothing waits. A panic ends only this connection.
func (c *Conn) flush() {
	hub := c.sockets.hub
	defer hub.work.Done()
	hub.metrics.flushing.Inc()
	defer hub.metrics.flushing.Dec()
	defer func() {
		if v := recover(); v != nil {
			hub.panicked("writing", v)
			c.stopFlush()
		}
	}()
	if wait := hub.cfg.Coalesce; wait > 0 {
		c.gather(wait)
	}
	f := batches.Get().(*batch)
	for c.gatherBatch(f) && c.write(f.buf) {
		c.wrote(f)
	}
	f.empty()
	batches.Put(f)
}

// stopFlush ends a flush that panicked, and closes the connection. What waited is
// dropped and not used again, for it may be what broke.
func (c *Conn) stopFlush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushing = false
	if c.pending != nil {
		c.pending.makeRoom()
		c.pending = nil
	}
	c.closeLocked(presence.Internal, "")
}

// gather waits for more changes of the view, unless something else waits too.
func (c *Conn) gather(wait time.Duration) {
	c.mu.Lock()
	p := c.pending
	alone := p != nil && p.count == 0 && !p.acks && p.final == nil
	c.mu.Unlock()
	if alone {
		time.Sleep(wait)
	}
}

func (f *batch) empty() {
	if cap(f.buf) > 128<<10 {
		f.buf = nil
	}
	clear(f.near[:cap(f.near)])
	clear(f.gone[:cap(f.gone)])
	*f = batch{buf: f.buf[:0], near: f.near[:0], gone: f.gone[:0], fresh: f.fresh[:0]}
}

// gatherBatch fills f with about FlushBytes of what waits. False if nothing did:
// then this flush has ended.
func (c *Conn) gatherBatch(f *batch) bool {
	f.buf, f.fresh = f.buf[:0], f.fresh[:0]
	for len(f.buf) < c.sockets.hub.cfg.FlushBytes && c.takePage(f) {
	}
	return len(f.buf) > 0
}

// takePage takes the events, the ack, and a page of the view. Encoding the view
// happens outside the lock.
func (c *Conn) takePage(f *batch) (more bool) {
	p := c.takeWaiting(f)
	if p.viewed {
		f.friends(p.version, p.full)
	}
	return p.more
}

// page is what takeWaiting says of what it took.
type page struct {
	more    bool // there may be another one
	viewed  bool // there is some of the view, as f.near and f.gone
	full    bool // and it replaces all before
	version uint64
}

func (c *Conn) takeWaiting(f *batch) (took page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending
	if p == nil || c.phase == dead {
		if len(f.buf) == 0 {
			c.flushing = false
		}
		return page{}
	}
	f.buf = append(f.buf, p.events...)
	c.framesOut += uint32(p.count)
	p.events, p.count = p.events[:0], 0
	p.makeRoom()
	if p.acks {
		seq, next := p.ack, c.sockets.hub.cfg.FixInterval.Seconds()
		var at int
		f.buf, at = beginText(f.buf)
		f.buf = endText(wire.AppendAck(f.buf, seq, next), at)
		p.acks = false
		c.framesOut++
		c.noteSent("ack", noNote)
	}
	took.viewed = !p.view.empty()
	took.full, f.near, f.gone = p.view.take(wire.PageEntries, f.near[:0], f.gone[:0])
	if took.viewed {
		c.version++
		c.framesOut++
		c.noteSent("friends", func() string { return viewNote(took.full, len(f.near), len(f.gone)) })
	}
	took.version = c.version
	if took.more = !p.view.empty(); !took.more {
		f.buf = append(f.buf, p.final...)
		if len(p.final) > 0 {
			f.final = true
			c.framesOut++
		}
		c.drop()
	}
	if !took.more && !took.viewed && len(f.buf) == 0 { // all that waited took itself back
		c.flushing = false
	}
	return took
}

func (f *batch) friends(version uint64, full bool) {
	if !full {
		for i := range f.near {
			if n := &f.near[i]; !n.Entered && n.Position.Born != 0 && wire.FirstEncoding(n.Position) {
				f.fresh = append(f.fresh, n.Position.Born)
			}
		}
	}
	var at int
	f.buf, at = beginText(f.buf)
	f.buf = endText(wire.AppendFriends(f.buf, version, full, f.near, f.gone), at)
}

// wrote does what follows a successful write.
func (c *Conn) wrote(f *batch) {
	hub := c.sockets.hub
	if len(f.fresh) > 0 {
		now := micros(hub.cfg.Now())
		for _, born := range f.fresh {
			hub.metrics.pushSeconds.Observe(float64(now-born) / 1e6)
		}
	}
	if !f.final {
		return
	}
	c.mu.Lock()
	c.said = true
	if c.told {
		c.hangUp()
	}
	c.mu.Unlock()
}

// writeChunk is how much the kernel is given at once. It makes one packet of it
// where it can, and a client's kernel makes room only for whole packets: of
// smaller ones a slow client shows sooner that it reads.
const writeChunk = 4 << 10

// write writes b. It gives up, and ends the connection, when the client has
// taken nothing for StallAfter; one that takes a little is waited for.
func (c *Conn) write(b []byte) bool {
	hub := c.sockets.hub
	look := hub.cfg.StallAfter
	_, again := c.net.(*net.TCPConn) // a TLS connection cannot go on after a timeout
	if again {
		look = max(look/4, time.Millisecond)
	}
	moved := hub.cfg.Now()
	taken := int64(-1) // not known
	_ = c.net.SetWriteDeadline(moved.Add(look))
	for {
		n, err := c.net.Write(b[:min(len(b), writeChunk)])
		c.written.Add(int64(n))
		hub.metrics.bytesOut.Add(float64(n))
		if b = b[n:]; err == nil {
			if len(b) == 0 {
				return true
			}
			moved = hub.cfg.Now()
			_ = c.net.SetWriteDeadline(moved.Add(look))
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			hub.metrics.writeErrors.Inc()
			c.stopWriting(closeAbnormal)
			return false
		}
		_, now := c.progress()
		if n > 0 || taken >= 0 && now > taken {
			moved = hub.cfg.Now()
		}
		taken = now
		if !again || hub.cfg.Now().Sub(moved) >= hub.cfg.StallAfter {
			c.stopWriting(presence.Slow)
			return false
		}
		_ = c.net.SetWriteDeadline(hub.cfg.Now().Add(look))
	}
}

// stopWriting ends a connection that cannot be written to. No close frame can
// follow, since a frame may be half written.
func (c *Conn) stopWriting(code presence.CloseCode) {
	c.mu.Lock()
	if c.phase < closing {
		c.code = code
		c.phase = closing
	}
	c.flushing = false
	c.release()
	c.drop()
	c.mu.Unlock()
	c.hangUp()
}
