package gateway

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readFrame reads one frame of the server.
func readFrame(t testing.TB, nc net.Conn) (op byte, payload []byte, err error) {
	t.Helper()
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(patience)))
	var head [2]byte
	if _, err := io.ReadFull(nc, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(head[1])
	switch n {
	case 126:
		var b [2]byte
		if _, err := io.ReadFull(nc, b[:]); err != nil {
			return 0, nil, err
		}
		n = int(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		if _, err := io.ReadFull(nc, b[:]); err != nil {
			return 0, nil, err
		}
		n = int(binary.BigEndian.Uint64(b[:]))
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(nc, payload)
	return head[0], payload, err
}

// closeCode reads to the server's close frame. 0 = the connection ended without.
func closeCode(t testing.TB, nc net.Conn) int {
	t.Helper()
	for {
		op, p, err := readFrame(t, nc)
		if err != nil {
			require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the server neither answers nor closes")
			return 0
		}
		if op != 0x88 {
			continue
		}
		if len(p) == 0 {
			return 1005
		}
		return int(binary.BigEndian.Uint16(p))
	}
}

const (
	finBit   = 0x80
	textOp   = 0x1
	binaryOp = 0x2
	closeOp  = 0x8
	pingOp   = 0x9
)

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestGW13_MalformedFramesEndOnlyTheirConnection(t *testing.T) {
	s := newStage(t, nil)
	neighbour := s.connected("bob")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	big := strings.Repeat("x", 65_537)
	for name, row := range map[string]struct {
		in   []byte
		want int
	}{
		"length with its highest bit":       {[]byte{finBit | textOp, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4}, 1009},
		"length of all ones":                {[]byte{finBit | textOp, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4}, 1009},
		"declared 2^62":                     {[]byte{finBit | textOp, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, 1009},
		"declared 2^63-1":                   {[]byte{finBit | textOp, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4}, 1009},
		"64 KiB and one byte":               {masked(finBit|textOp, []byte(big)), 1009},
		"fragments beyond 64 KiB":           {join(masked(textOp, []byte(big[:40_000])), masked(finBit, []byte(big[:40_000]))), 1009},
		"many fragments beyond 64 KiB":      {join(masked(textOp, nil), []byte(strings.Repeat(string(masked(0, []byte(big[:1000]))), 66))), 1009},
		"unmasked":                          {[]byte{finBit | textOp, 2, '{', '}'}, 1002},
		"RSV1":                              {masked(finBit|textOp|0x40, []byte("{}")), 1002},
		"RSV3":                              {masked(finBit|textOp|0x10, []byte("{}")), 1002},
		"opcode 3":                          {masked(finBit|3, []byte("{}")), 1002},
		"opcode 11":                         {masked(finBit|11, nil), 1002},
		"fragmented ping":                   {masked(pingOp, []byte("x")), 1002},
		"ping of 126 bytes":                 {masked(finBit|pingOp, []byte(big[:126])), 1002},
		"close of one byte":                 {masked(finBit|closeOp, []byte{3}), 1002},
		"close with 1005":                   {masked(finBit|closeOp, []byte{3, 237}), 1002},
		"close with 1006":                   {masked(finBit|closeOp, []byte{3, 238}), 1002},
		"close with 999":                    {masked(finBit|closeOp, []byte{3, 231}), 1002},
		"close with a reason of bad UTF-8":  {masked(finBit|closeOp, []byte{3, 232, 0xff}), 1007},
		"close":                             {masked(finBit|closeOp, []byte{3, 232, 'b', 'y', 'e'}), 1000},
		"close without code":                {masked(finBit|closeOp, nil), 1005},
		"continuation first":                {masked(finBit, []byte("{}")), 1002},
		"text inside a fragmented message":  {join(masked(textOp, []byte("{")), masked(finBit|textOp, []byte("}"))), 1002},
		"bad UTF-8":                         {masked(finBit|textOp, []byte("{\"type\":\"\xff\"}")), 1007},
		"bad UTF-8 over two fragments":      {join(masked(textOp, []byte("\xe2\x82")), masked(finBit, []byte("x"))), 1007},
		"binary":                            {masked(finBit|binaryOp, []byte("{}")), 4000},
		"binary in fragments":               {join(masked(binaryOp, []byte("{")), masked(finBit, []byte("}"))), 4000},
		"ten thousand random-looking bytes": {[]byte(strings.Repeat("\x00\x13\x37", 3333)), 1002},
		"HTTP on a WebSocket":               {[]byte("GET / HTTP/1.1\r\n\r\n"), 1002},
	} {
		t.Run(name, func(t *testing.T) {
			nc := s.rawDial(nil)
			_, err := nc.Write(row.in)
			require.NoError(t, err)
			require.Equal(t, row.want, closeCode(t, nc))
			_ = nc.Close()
		})
	}
	s.eventually("only the neighbour is left", func() bool { return s.hub.Len() == 1 })
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(4<<20))
	neighbour.send(`{"type":"share","mode":"exact"}`)
	require.Equal(t, "ok", neighbour.read()["type"])
}

func TestGW13_BadMessagesLeaveTheConnectionOpen(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.FrameBurst = 1000 })
	s.live.durable = true
	c := s.connected("alice")
	for _, row := range []struct{ in, code string }{
		{strings.Repeat("[", 30_000), "bad_json"},
		{`{"type":"pong","x":` + strings.Repeat(`{"a":`, 9000) + `1` + strings.Repeat("}", 9000) + "}", "bad_json"},
		{`{"type":"fix","seq":1,"lng":1,"lat":` + strings.Repeat("9", 60_000) + "}", "bad_json"},
		{`{"type":"fix","seq":1,"lng":1,"lat":NaN}`, "bad_json"},
		{`{"type":"fix","seq":1,"lng":1,"lat":"NaN"}`, "bad_field"},
		{`{"type":"fix","seq":1,"lng":1,"lat":1e999}`, "bad_coordinate"},
		{`{"type":"fix","seq":1,"seq":2,"lng":1,"lat":1}`, "bad_json"},
		{`{"type":["fix"]}`, "bad_field"},
		{`{"type":"fix","lng":1,"lat":1}`, "bad_field"},
		{``, "bad_json"},
		{`{"type":"fixes","fixes":[1]}`, "bad_field"},
	} {
		c.send("%s", row.in)
		m := c.read()
		require.Equal(t, "error", m["type"])
		require.Equal(t, row.code, m["code"], row.in[:min(60, len(row.in))])
	}
	c.send(`{"type":"fixes","fixes":[{"seq":0,"lat":1,"lng":1},{"lat":1,"lng":1}]}`)
	require.Contains(t, c.read()["message"], "fixes[1]", "without a seq the place says which")
	require.Equal(t, "ack", c.read()["type"])
	s.live.forget()
	c.send(`{"type":"fix","seq":1,"lng":1,"lat":1}`)
	require.EqualValues(t, 1, c.read()["seq"])
	require.Len(t, s.live.reported(), 1)
}

func TestGW13_FragmentsAndControlFramesBetweenThem(t *testing.T) {
	s := newStage(t, nil)
	nc := s.rawDial(nil)
	connect := fmt.Sprintf(`{"type":"connect","token":%q}`, s.token("alice", time.Hour))
	var in []byte
	for i := range len(connect) {
		op := byte(0)
		if i == 0 {
			op = textOp
		}
		in = append(in, masked(op, []byte(connect[i:i+1]))...)
		if i%50 == 0 {
			in = append(in, masked(finBit|pingOp, []byte{byte(i)})...)
		}
	}
	in = append(in, masked(finBit, nil)...)
	_, err := nc.Write(in)
	require.NoError(t, err)
	for i := 0; i < len(connect); i += 50 {
		op, p, err := readFrame(t, nc)
		require.NoError(t, err)
		require.Equal(t, byte(0x8a), op)
		require.Equal(t, []byte{byte(i)}, p)
	}
	_, p, err := readFrame(t, nc)
	require.NoError(t, err)
	require.Contains(t, string(p), `"connected"`)

	// Exactly the limit is taken, in one frame, byte by byte, and in two messages at once.
	most := `{"type":"pong","x":"` + strings.Repeat("x", 65_536-22) + `"}`
	require.Len(t, most, 65_536)
	share := masked(finBit|textOp, []byte(`{"type":"share","mode":"none"}`))
	for _, part := range [][]byte{masked(finBit|textOp, []byte(most)), share[:1], share[1:2], share[2:7], share[7:], join(share, share)} {
		_, err = nc.Write(part)
		require.NoError(t, err)
		time.Sleep(time.Millisecond) // so that the parts arrive one by one
	}
	for range 3 {
		_, p, err = readFrame(t, nc)
		require.NoError(t, err)
		require.Equal(t, `{"type":"ok"}`, string(p))
	}
}

// A header that promises much, and then nothing: no memory, and the pong
// deadline ends it, since part of a frame is not a frame.
func TestGW13_HalfAFrameIsSilence(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) {
		c.ConnectWithin, c.CloseWithin = 100*time.Millisecond, 100*time.Millisecond
	})
	for _, in := range [][]byte{{finBit | textOp}, {finBit | textOp, 0xff, 0, 0, 0, 0, 0, 0, 0}, masked(finBit|textOp, make([]byte, 60_000))[:2000]} {
		nc := s.rawDial(nil)
		_, err := nc.Write(in)
		require.NoError(t, err)
		require.Equal(t, 4004, closeCode(t, nc))
	}
	s.eventually("all ended", func() bool { return s.hub.Len() == 0 })
}

// The first frame may come together with the request for the upgrade.
func TestGW13_AFrameThatDoesNotWaitForTheUpgrade(t *testing.T) {
	s := newStage(t, nil)
	nc, err := net.Dial("tcp", s.address())
	require.NoError(t, err)
	defer func() { _ = nc.Close() }()
	connect := masked(finBit|textOp, fmt.Appendf(nil, `{"type":"connect","token":%q}`, s.token("alice", time.Hour)))
	_, err = fmt.Fprintf(nc, "GET /v1/ws HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n%s", connect)
	require.NoError(t, err)
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(patience)))
	var got []byte
	buf := make([]byte, 4096)
	for !strings.Contains(string(got), `"connected"`) {
		n, err := nc.Read(buf)
		require.NoError(t, err)
		got = append(got, buf[:n]...)
	}
}

func FuzzSocketBytes(f *testing.F) {
	f.Add(masked(finBit|textOp, []byte(`{"type":"pong"}`)))
	f.Add([]byte{finBit | textOp, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4})
	f.Add(join(masked(textOp, []byte("{")), masked(finBit|pingOp, nil), masked(finBit, []byte("}"))))
	s := newStage(f, func(c *SocketConfig) { c.CloseWithin, c.ConnectsPerS = 50*time.Millisecond, 0 })
	sockets := NewSockets(s.hub, SocketPorts{Live: s.live, Accounts: s.people, Readiness: s.ready}, s.auth)
	f.Fuzz(func(t *testing.T, in []byte) {
		ours, theirs := net.Pipe()
		require.True(t, sockets.admit())
		c := sockets.adopt(theirs, nil)
		require.NotNil(t, c)
		go func() { _, _ = io.Copy(io.Discard, ours) }()
		_ = ours.SetWriteDeadline(time.Now().Add(patience))
		_, _ = ours.Write(in)
		_ = ours.Close()
		require.Eventually(t, func() bool { _, there := s.hub.conns.get(c.id); return !there }, patience, 100*time.Microsecond)
	})
}
