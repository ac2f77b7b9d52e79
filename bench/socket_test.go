package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// socket is a WebSocket client that does as little as a client can, so that the
// figures are the server's.
type socket struct {
	nc  net.Conn
	in  *bufio.Reader
	mu  sync.Mutex // guards out and writes
	out []byte
	big []byte
}

// dial opens the i-th WebSocket to addr. Many of them come from several
// addresses of this machine, since one has 28,000 ports.
func dial(ctx context.Context, addr string, i int) (*socket, error) {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%8))}
	d := ws.Dialer{
		Timeout:         20 * time.Second,
		Protocols:       []string{gateway.Subprotocol},
		ReadBufferSize:  4096,
		WriteBufferSize: 512,
		NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: from}).DialContext(ctx, network, addr)
		},
	}
	nc, rest, _, err := d.Dial(ctx, "ws://"+addr+"/v1/ws")
	if err != nil {
		return nil, err
	}
	s := &socket{nc: nc, in: rest}
	if rest == nil {
		s.in = bufio.NewReaderSize(nc, 4096)
	}
	return s, nil
}

// clientMask is the mask of every frame: what it is does not matter to the
// server.
var clientMask = [4]byte{0x12, 0x34, 0x56, 0x78}

// send writes one text frame of at most 65,535 bytes.
func (s *socket) send(payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out[:0], 0x80|byte(ws.OpText))
	if len(payload) < 126 {
		s.out = append(s.out, 0x80|byte(len(payload)))
	} else {
		s.out = append(s.out, 0x80|126, byte(len(payload)>>8), byte(len(payload)))
	}
	s.out = append(s.out, clientMask[:]...)
	at := len(s.out)
	s.out = append(s.out, payload...)
	ws.Cipher(s.out[at:], clientMask, 0)
	_, err := s.nc.Write(s.out)
	return err
}

var pong, pingType = []byte(`{"type":"pong"}`), []byte(`{"type":"ping"`)

// next returns the payload of the next text frame, valid until the one after.
// Pings are answered.
func (s *socket) next() ([]byte, error) {
	for {
		op, payload, err := s.frame()
		switch {
		case err != nil:
			return nil, err
		case op == ws.OpClose && len(payload) >= 2:
			return nil, fmt.Errorf("closed with %d: %s", binary.BigEndian.Uint16(payload), payload[2:])
		case op != ws.OpText:
			return nil, fmt.Errorf("a frame of kind %d", op)
		case !bytes.HasPrefix(payload, pingType):
			return payload, nil
		}
		if err := s.send(pong); err != nil {
			return nil, err
		}
	}
}

func (s *socket) frame() (ws.OpCode, []byte, error) {
	head, err := s.in.Peek(2)
	if err != nil {
		return 0, nil, err
	}
	op, size, skip := ws.OpCode(head[0]&0xf), int(head[1]&0x7f), 2
	if size == 127 {
		return 0, nil, errors.New("a frame of 64 KiB or more")
	}
	if size == 126 {
		if head, err = s.in.Peek(4); err != nil {
			return 0, nil, err
		}
		size, skip = int(binary.BigEndian.Uint16(head[2:])), 4
	}
	if _, err := s.in.Discard(skip); err != nil {
		return 0, nil, err
	}
	if size <= s.in.Size() {
		payload, err := s.in.Peek(size)
		if err == nil {
			_, err = s.in.Discard(size)
		}
		return op, payload, err
	}
	s.big = append(s.big[:0], make([]byte, size)...)
	_, err = io.ReadFull(s.in, s.big)
	return op, s.big, err
}

// hello sends a connect and waits for its answer.
func (s *socket) hello(user presence.PublicID, token string) error {
	if err := s.send(fmt.Appendf(nil, `{"type":"connect","device":"phone","token":%q}`, token)); err != nil {
		return err
	}
	answer, err := s.next()
	if err == nil && !bytes.HasPrefix(answer, []byte(`{"type":"connected"`)) {
		err = fmt.Errorf("connect of %s was answered by %s", user, answer)
	}
	return err
}

// appendFix appends a fix frame as a phone sends it.
func appendFix(b []byte, at geo.Point, seq uint64, ts int64) []byte {
	lat, lng := at.Degrees()
	b = append(b, `{"type":"fix","lat":`...)
	b = strconv.AppendFloat(b, lat, 'f', 7, 64)
	b = append(b, `,"lng":`...)
	b = strconv.AppendFloat(b, lng, 'f', 7, 64)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"ts":`...)
	b = strconv.AppendInt(b, ts, 10)
	return append(b, `,"acc":8.5,"speed":1.4,"heading":271.5,"battery":0.83}`...)
}

// numberAfter returns the number that follows key in b, or false, and what comes
// behind it.
func numberAfter(b, key []byte) (n int64, rest []byte, ok bool) {
	i := bytes.Index(b, key)
	if i < 0 {
		return 0, nil, false
	}
	i += len(key)
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		n, ok = n*10+int64(b[i]-'0'), true
	}
	return n, b[i:], ok
}
