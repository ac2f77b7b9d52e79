package gateway

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// readBuffer is how much is read at once. A buffer is held only while part of a
// message has arrived.
const readBuffer = 4 << 10

var readBuffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// reader takes messages from a connection. Its memory grows with what has
// arrived, never with what a header promises.
type reader struct {
	buf     []byte // buf[from:to] has arrived and is not dealt with
	from    int
	to      int
	message []byte // the fragments so far of a message
	inside  bool   // a fragmented message
	first   [1]byte
}

// wait returns when at least one byte is there. While it waits it holds no
// buffer.
func (r *reader) wait(nc net.Conn) error {
	if r.to > r.from {
		return nil
	}
	if r.buf != nil {
		r.putBuf()
	}
	n, err := nc.Read(r.first[:])
	if n == 0 {
		if err == nil {
			err = io.ErrNoProgress
		}
		return err
	}
	r.give(r.first[:])
	return nil
}

// give puts bytes that were read elsewhere before what is read next.
func (r *reader) give(b []byte) {
	if len(b) == 0 {
		return
	}
	if len(b) <= readBuffer {
		r.buf = readBuffers.Get().(*[readBuffer]byte)[:]
	} else {
		r.buf = make([]byte, len(b))
	}
	r.from, r.to = 0, copy(r.buf, b)
}

func (r *reader) putBuf() {
	if len(r.buf) == readBuffer {
		readBuffers.Put((*[readBuffer]byte)(r.buf))
	}
	r.buf, r.from, r.to = nil, 0, 0
}

func (r *reader) free() {
	if r.buf != nil {
		r.putBuf()
	}
	r.message = nil
}

// fill reads until n bytes are there. The buffer doubles as they arrive.
func (r *reader) fill(nc net.Conn, n int) error {
	for r.to-r.from < n {
		if r.from > 0 && (r.from == r.to || r.from+n > len(r.buf)) {
			r.to = copy(r.buf, r.buf[r.from:r.to])
			r.from = 0
		}
		if r.to == len(r.buf) {
			grown := make([]byte, 2*len(r.buf))
			copied := copy(grown, r.buf[r.from:r.to])
			r.putBuf()
			r.buf, r.to = grown, copied
		}
		got, err := nc.Read(r.buf[r.to:])
		r.to += got
		if err != nil && r.to-r.from < n {
			return err
		}
	}
	return nil
}

// header reads a frame's header (RFC 6455, 5.2).
func (r *reader) header(nc net.Conn) (h ws.Header, err error) {
	if err := r.fill(nc, 2); err != nil {
		return h, err
	}
	b := r.buf[r.from:]
	h.Fin, h.Rsv, h.OpCode, h.Masked = b[0]&0x80 != 0, b[0]>>4&7, ws.OpCode(b[0]&0x0f), b[1]&0x80 != 0
	h.Length = int64(b[1] & 0x7f)
	size := 2
	switch h.Length {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if h.Masked {
		size += 4
	}
	if err := r.fill(nc, size); err != nil {
		return h, err
	}
	b = r.buf[r.from : r.from+size]
	switch h.Length {
	case 126:
		h.Length = int64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if b[2]&0x80 != 0 {
			return h, ws.ErrHeaderLengthMSB
		}
		h.Length = int64(binary.BigEndian.Uint64(b[2:]))
	}
	if h.Masked {
		copy(h.Mask[:], b[size-4:])
	}
	r.from += size
	return h, nil
}

// state is what ws.CheckHeader needs to know.
func (r *reader) state() ws.State {
	s := ws.StateServerSide
	if r.inside {
		s = s.Set(ws.StateFragmented)
	}
	return s
}

// payload reads a frame's payload. It is valid until the next read.
func (r *reader) payload(nc net.Conn, h ws.Header) ([]byte, error) {
	n := int(h.Length)
	if err := r.fill(nc, n); err != nil {
		return nil, err
	}
	p := r.buf[r.from : r.from+n]
	r.from += n
	ws.Cipher(p, h.Mask, 0)
	return p, nil
}

// discard reads on until the connection ends, so that a close frame is not
// overtaken by a reset.
func (r *reader) discard(nc net.Conn) {
	r.free()
	b := readBuffers.Get().(*[readBuffer]byte)
	defer readBuffers.Put(b)
	for {
		if _, err := nc.Read(b[:]); err != nil {
			return
		}
	}
}

// receive reads one frame and deals with it. False ends the connection.
func (c *Conn) receive() bool {
	h, err := c.in.header(c.net)
	if errors.Is(err, ws.ErrHeaderLengthMSB) {
		return c.broken(wire.CloseTooBig, "A frame announces a length with its highest bit set.")
	}
	if err != nil {
		return false
	}
	if err := ws.CheckHeader(h, c.in.state()); err != nil {
		return c.broken(wire.CloseProtocol, err.Error())
	}
	if !h.OpCode.IsControl() && h.Length > int64(c.sockets.hub.cfg.MaxFrameBytes-len(c.in.message)) {
		return c.broken(wire.CloseTooBig, "")
	}
	p, err := c.in.payload(c.net, h)
	if err != nil {
		return false
	}
	now := c.sockets.hub.clock()
	c.heard.Store(int64(now))
	c.framesIn.Add(1)
	c.sockets.hub.metrics.bytesIn.Add(float64(len(p)))
	wait, flooded := c.flood.frame(now, c.sockets.hub.cfg.FixesPerS)
	if flooded {
		c.close(presence.RateLimited, "")
	} else if wait > 0 {
		c.rest(wait)
	}
	if h.OpCode.IsControl() {
		return c.control(h.OpCode, p)
	}
	return c.data(h, p)
}

// broken closes a connection whose bytes cannot be understood any more.
func (c *Conn) broken(code presence.CloseCode, reason string) bool {
	c.close(code, reason)
	c.in.discard(c.net)
	return false
}

func (c *Conn) control(op ws.OpCode, p []byte) bool {
	switch op {
	case ws.OpPing:
		c.answerRaw(ws.OpPong, p)
	case ws.OpClose:
		if len(p) == 0 {
			c.answerClose(closeNoStatus)
			break
		}
		code, reason := ws.ParseCloseFrameDataUnsafe(p)
		if len(p) == 1 {
			return c.broken(wire.CloseProtocol, "A close frame has one byte.")
		}
		if !utf8.ValidString(reason) {
			return c.broken(wire.CloseUTF8, "The reason of a close frame is not valid UTF-8.")
		}
		if err := ws.CheckCloseFrameData(code, reason); err != nil {
			return c.broken(wire.CloseProtocol, err.Error())
		}
		c.answerClose(presence.CloseCode(code))
	default: // a pong says only that the client lives
		return true
	}
	if op == ws.OpClose {
		c.in.discard(c.net)
		return false
	}
	return true
}

// data takes a data frame: a message, or a part of one. Kith's messages are
// text; a client that sends binary ones is written for something else.
func (c *Conn) data(h ws.Header, p []byte) bool {
	if h.OpCode == ws.OpBinary {
		return c.broken(presence.BadRequest, "Binary messages are not understood; send JSON objects in text frames.")
	}
	if !h.Fin || c.in.inside {
		c.in.message = append(c.in.message, p...)
		c.in.inside = !h.Fin
		if c.in.inside {
			return true
		}
		p = c.in.message
		c.in.message = nil
	}
	if !utf8.Valid(p) {
		return c.broken(wire.CloseUTF8, "")
	}
	if c.alive() {
		c.message(p)
	}
	return true
}

// answerRaw queues a control frame.
func (c *Conn) answerRaw(op ws.OpCode, payload []byte) {
	c.answerBytes(append([]byte{0x80 | byte(op), byte(len(payload))}, payload...))
}
