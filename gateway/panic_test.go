package gateway

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// TestGW17_APanicWhileWritingEndsOneConnection: what breaks is the view of one
// client, in the goroutine that encodes it.
func TestGW17_APanicWhileWritingEndsOneConnection(t *testing.T) {
	for name, broken := range map[string]*presence.Change{
		"near": {Near: []presence.Near{{Position: &presence.Position{User: "eve", Precision: 200}}}},
		"gone": {Gone: []presence.Gone{{User: "eve", Reason: 200}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			neighbour := s.connected("bob")
			c := s.connected("alice")
			s.live.mu.Lock()
			conn := s.live.lastConn
			s.live.mu.Unlock()
			s.hub.Push(conn, broken)
			code, _ := c.closed()
			require.Equal(t, 4103, code)
			s.eventually("one is left", func() bool { return s.hub.Len() == 1 })
			require.EqualValues(t, 1, testutil.ToFloat64(s.hub.metrics.panics))
			s.eventually("nobody writes", func() bool { return testutil.ToFloat64(s.hub.metrics.flushing) == 0 })
			neighbour.send(`{"type":"radius","radius_m":1000,"id":"x"}`)
			require.Equal(t, "ok", neighbour.read()["type"])
			s.eventually("its user is told", func() bool { return bytes.Contains(fmt.Append(nil, s.live.called()), []byte("detach 2")) })
		})
	}
}

// brittle is a connection of which the kernel's figures cannot be read the first
// times that it matters.
type brittle struct {
	*net.TCPConn
	breaks atomic.Int32 // times left
}

func (b *brittle) SyscallConn() (syscall.RawConn, error) {
	if b.breaks.Add(-1) >= 0 {
		panic("brittle")
	}
	return b.TCPConn.SyscallConn()
}

// TestGW17_APanicInThePulseEndsOneConnection: the goroutine of the wheel serves
// all others too.
func TestGW17_APanicInThePulseEndsOneConnection(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.PingEvery, c.PongWithin = 100*time.Millisecond, 5*time.Second })
	sockets := s.server.Config.Handler.(*Sockets)
	client, server := tcpPair(t)
	nc := &brittle{TCPConn: server}
	require.NotNil(t, sockets.adopt(nc, nil))
	_, err := client.Write(masked(0x81, fmt.Appendf(nil, `{"type":"connect","token":%q}`, s.token("alice", time.Hour))))
	require.NoError(t, err)
	s.eventually("she is connected", func() bool { return len(s.live.called()) > 0 })
	nc.breaks.Store(2) // the pulse, and the pulse again for the end of it
	require.NoError(t, client.SetReadDeadline(time.Now().Add(patience)))
	var last []byte
	buf := make([]byte, 4096)
	for {
		n, err := client.Read(buf)
		last = append(last, buf[:n]...)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	require.True(t, bytes.Contains(last, binary.BigEndian.AppendUint16(nil, 4103)), "%q", last)
	require.EqualValues(t, 2, testutil.ToFloat64(s.hub.metrics.panics), "both are survived")
	neighbour := s.connected("bob")
	require.Equal(t, "ping", neighbour.read()["type"], "the wheel turns")
}

func tcpPair(t *testing.T) (client, server *net.TCPConn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	a, err := l.Accept()
	require.NoError(t, err)
	return c.(*net.TCPConn), a.(*net.TCPConn)
}

// TestGW17_ThePanicLogHoldsNoArguments: a trace of the runtime prints the words of
// what functions were called with, so a position would stand in the log.
func TestGW17_ThePanicLogHoldsNoArguments(t *testing.T) {
	var log bytes.Buffer
	hub := &Hub{log: slog.New(slog.NewTextHandler(&log, nil)), metrics: newTestMetrics(t)}
	func() {
		defer func() { hub.panicked("writing", recover()) }()
		breakAt(&presence.Position{User: "eve"}, 525200123, nil)
	}()
	require.Contains(t, log.String(), "gateway.breakAt:")
	for _, secret := range []string{"525200123", "1f4de2fb", "0x"} {
		require.NotContains(t, log.String(), secret)
	}
}

func newTestMetrics(t *testing.T) *socketMetrics {
	m, err := newSocketMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	return m
}

//go:noinline
func breakAt(p *presence.Position, lat int32, into *int32) int32 {
	*into = lat
	return lat + p.At.Lat
}
