package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rawConn is a WebSocket connection of which every byte is the test's own.
type rawConn struct {
	t   testing.TB
	tcp *net.TCPConn
	in  *bufio.Reader
}

// Opcodes of RFC 6455, and the bit of a message's last frame.
const (
	opContinue, opText, opBinary, opClose, opPing, opPong = 0, 1, 2, 8, 9, 10

	fin = 0x80
)

// rawDial opens a connection. receive is the size of the kernel's buffer for what
// was not read; 0 = the default.
func (s *server) rawDial(receive int) *rawConn {
	s.t.Helper()
	dialer := net.Dialer{Timeout: patience}
	if receive > 0 {
		dialer.Control = func(_, _ string, raw syscall.RawConn) error { return narrow(raw, receive) }
	}
	nc, err := dialer.Dial("tcp", strings.TrimPrefix(s.http, "http://"))
	require.NoError(s.t, err)
	c := &rawConn{t: s.t, tcp: nc.(*net.TCPConn)}
	s.t.Cleanup(func() { _ = nc.Close() })
	key := base64.StdEncoding.EncodeToString([]byte("sixteen bytes..."))
	_, err = fmt.Fprintf(nc, "GET /v1/ws HTTP/1.1\r\nHost: kith\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", key)
	require.NoError(s.t, err)
	c.in = bufio.NewReaderSize(nc, 1024)
	resp, err := http.ReadResponse(c.in, nil)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusSwitchingProtocols, resp.StatusCode)
	return c
}

// segment is the least that every network carries (RFC 1122, 3.3.3).
const segment = 536

// narrow makes a socket of this machine behave like one far away: with a small
// buffer, and short segments. Loopback's are 64 KiB, and a
// receiver opens its window by no less than a segment or half of its buffer, so
// one that reads slowly would seem not to read at all for long.
func narrow(raw syscall.RawConn, receive int) error {
	var err error
	failed := raw.Control(func(fd uintptr) {
		err = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, receive),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, segment))
	})
	return errors.Join(failed, err)
}

// hello sends connect and waits for the answer.
func (c *rawConn) hello(user string) *rawConn {
	c.t.Helper()
	require.NoError(c.t, c.write(frameOf(fin|opText, fmt.Sprintf(`{"type":"connect","token":%q}`, token(c.t, user, time.Hour)))))
	for {
		op, payload, err := c.read(patience)
		require.NoError(c.t, err)
		if op == opText && strings.Contains(string(payload), `"type":"connected"`) {
			return c
		}
	}
}

// frameOf builds a masked frame.
func frameOf(first byte, payload string) string {
	return headerOf(first, uint64(len(payload)), true) + masked(payload)
}

var maskKey = [4]byte{0x12, 0x34, 0x56, 0x78}

// headerOf builds a frame's header alone, with any length.
func headerOf(first byte, length uint64, mask bool) string {
	b := []byte{first}
	bit := byte(0)
	if mask {
		bit = 0x80
	}
	switch {
	case length < 126:
		b = append(b, bit|byte(length))
	case length <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(length))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), length)
	}
	if mask {
		b = append(b, maskKey[:]...)
	}
	return string(b)
}

func masked(payload string) string {
	b := []byte(payload)
	for i := range b {
		b[i] ^= maskKey[i%4]
	}
	return string(b)
}

func (c *rawConn) write(bytes string) error {
	_ = c.tcp.SetWriteDeadline(time.Now().Add(patience))
	_, err := io.WriteString(c.tcp, bytes)
	return err
}

// read reads one frame of the server.
func (c *rawConn) read(within time.Duration) (op byte, payload []byte, err error) {
	_ = c.tcp.SetReadDeadline(time.Now().Add(within))
	return readFrame(c.in)
}

func readFrame(in io.Reader) (op byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, nil, err
	}
	if head[1]&0x80 != 0 {
		return 0, nil, errors.New("a server masks its frames")
	}
	length := uint64(head[1])
	switch length {
	case 126:
		more := make([]byte, 2)
		_, err = io.ReadFull(in, more)
		length = uint64(binary.BigEndian.Uint16(more))
	case 127:
		more := make([]byte, 8)
		_, err = io.ReadFull(in, more)
		length = binary.BigEndian.Uint64(more)
	}
	if err != nil || length > 8<<20 {
		return 0, nil, fmt.Errorf("a frame of %d bytes: %w", length, err)
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(in, payload)
	return head[0] & 0x0f, payload, err
}

// outcome reads until an error frame or a close frame comes: "bad_json", or
// "close 1002".
func (c *rawConn) outcome() string {
	for {
		op, payload, err := c.read(patience)
		switch {
		case err != nil:
			return "ended without a close frame: " + err.Error()
		case op == opClose && len(payload) >= 2:
			return fmt.Sprintf("close %d", binary.BigEndian.Uint16(payload))
		case op == opClose:
			return "close without a code"
		case op == opPong:
			return "pong " + string(payload)
		}
		text := string(payload)
		if _, rest, found := strings.Cut(text, `"type":"error","code":"`); found {
			code, _, _ := strings.Cut(rest, `"`)
			return code
		}
		if strings.Contains(text, `"type":"ack"`) || strings.Contains(text, `"type":"ok"`) {
			return "taken"
		}
	}
}

// noise is random bytes.
func noise(random *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return string(b)
}
