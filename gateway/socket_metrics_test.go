package gateway

import (
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

func samples(t *testing.T, h prometheus.Collector) uint64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(h))
	families, err := reg.Gather()
	require.NoError(t, err)
	return families[0].GetMetric()[0].GetHistogram().GetSampleCount()
}

func TestGW16_MetricsCountAndHoldNothingOfUsers(t *testing.T) {
	s := newStage(t, nil)
	c := s.connected("alice-the-secret")
	m := s.hub.metrics
	c.send(`{"type":"fix","lat":59.12345,"lng":18.54321,"seq":1}`)
	c.send(`{"type":"fix","lat":95,"lng":18.54321,"seq":2}`)
	require.Equal(t, "bad_coordinate", c.read()["code"])
	s.eventually("waits", func() bool { return testutil.ToFloat64(m.waitingAcks) == 1 })
	s.hub.Durable(s.live.reported()[0])
	c.readType("ack")
	require.Zero(t, testutil.ToFloat64(m.waitingAcks))
	p := near("bob-the-secret", 5, false)
	s.hub.Push(s.connID(), &presence.Change{Near: []presence.Near{p}})
	c.readType("friends")
	s.hub.Push(s.connID(), &presence.Change{Near: []presence.Near{p}})
	c.readType("friends")
	require.EqualValues(t, 1, samples(t, m.ackSeconds))
	s.eventually("push latency", func() bool { return samples(t, m.pushSeconds) == 1 })
	require.EqualValues(t, 2, testutil.ToFloat64(m.framesIn[wire.Fix]))
	require.EqualValues(t, 1, testutil.ToFloat64(m.refusedFixes[wire.BadCoordinate]))
	require.EqualValues(t, 1, testutil.ToFloat64(m.errors[wire.BadCoordinate]))
	require.EqualValues(t, 1, testutil.ToFloat64(m.conns))
	require.EqualValues(t, 1, testutil.ToFloat64(m.connects))
	require.Positive(t, testutil.ToFloat64(m.bytesOut))

	c.send(`{"type":"fix","lat":1,"lng":2,"seq":3}`)
	s.eventually("waits", func() bool { return testutil.ToFloat64(m.waitingAcks) == 1 })
	require.NoError(t, c.ws.Close(3333, "of its own"))
	s.eventually("ended", func() bool { return s.hub.Len() == 0 })
	s.eventually("nothing waits any more", func() bool { return testutil.ToFloat64(m.waitingAcks) == 0 })
	require.EqualValues(t, 1, testutil.ToFloat64(m.closes.WithLabelValues("other")))
	require.Zero(t, testutil.ToFloat64(m.conns))

	families, err := s.reg.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	for _, f := range families {
		require.True(t, strings.HasPrefix(f.GetName(), "kith_"), f.GetName())
		require.NotContains(t, f.String(), "secret")
		require.NotContains(t, f.String(), "59.12345")
	}
}

func TestGW16_TwoHubsNeedTwoRegistries(t *testing.T) {
	reg := prometheus.NewRegistry()
	a, err := NewHub(DefaultSocketConfig(), reg, nil)
	require.NoError(t, err)
	defer a.Stop()
	_, err = NewHub(DefaultSocketConfig(), reg, nil)
	require.Error(t, err)
}

// A panic of one connection ends that one with 4103.
func TestGW17_APanicEndsOneConnection(t *testing.T) {
	s := newStage(t, nil)
	neighbour := s.connected("bob")
	c := s.connected("alice")
	s.people.mu.Lock()
	s.people.explode = true
	s.people.mu.Unlock()
	c.send(`{"type":"friend","op":"accept","user":"bob"}`)
	code, _ := c.closed()
	require.Equal(t, 4103, code)
	s.eventually("one is left", func() bool { return s.hub.Len() == 1 })
	require.EqualValues(t, 1, testutil.ToFloat64(s.hub.metrics.panics))
	s.people.mu.Lock()
	s.people.explode = false
	s.people.mu.Unlock()
	neighbour.send(`{"type":"friend","op":"accept","user":"carol"}`)
	require.Equal(t, "ok", neighbour.read()["type"])
	require.Contains(t, s.live.called(), "detach 2")
}

// openFDs is how many file descriptors the process has open.
func openFDs(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(all)
}

// After Stop nothing of the hub runs, and every client sees its connection end.
func TestGW17_StopEndsEverything(t *testing.T) {
	s := newStage(t, nil)
	c := s.connected("alice")
	waits := s.dial()
	s.hub.Stop()
	// An upgrade may have been answered and not yet be a connection.
	s.eventually("none is left", func() bool { return s.hub.Len() == 0 })
	c.closed()
	waits.closed()
	s.hub.Push(1, &presence.Change{Full: true}) // nobody is there
	require.Nil(t, NewSockets(s.hub, SocketPorts{Readiness: s.ready}, s.auth).adopt(nil, nil))
}

func TestGW17_AConnectionIsOneGoroutineAndOneFile(t *testing.T) {
	const n = 100
	s := newStage(t, func(c *SocketConfig) { c.ConnectsPerS = 0 })
	goroutines, files := runtime.NumGoroutine(), openFDs(t)
	clients := make([]net.Conn, n)
	for i := range clients {
		clients[i] = s.connectRaw("alice", 4096)
	}
	s.eventually("handlers have returned", func() bool { return runtime.NumGoroutine()-goroutines <= n+5 })
	for _, nc := range clients {
		_ = nc.Close()
	}
	s.eventually("all closed", func() bool { return s.hub.Len() == 0 && openFDs(t) <= files+2 })
	s.eventually("all ended", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
}

func TestGW9_ChangesAreGatheredIfSoSet(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.Coalesce = 20 * time.Millisecond })
	c := s.connected("alice")
	for range 3 {
		s.hub.Push(s.connID(), &presence.Change{Near: []presence.Near{near("bob", 1, true)}})
		s.hub.Push(s.connID(), &presence.Change{Near: []presence.Near{near("carol", 1, true)}})
		require.Len(t, c.readType("friends")["near"], 2)
	}
}

func TestGW9_OverTLS(t *testing.T) {
	s := newStage(t, nil)
	s.live.durable = true
	server := httptest.NewTLSServer(s.server.Config.Handler)
	defer server.Close()
	ws, _, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPClient: server.Client(), Subprotocols: []string{Subprotocol}})
	require.NoError(t, err)
	require.Equal(t, Subprotocol, ws.Subprotocol())
	c := &client{t: t, ws: ws}
	c.send(`{"type":"connect","token":%q}`, s.token("alice", time.Hour))
	require.Equal(t, "connected", c.read()["type"])
	c.send(`{"type":"fix","lat":1,"lng":2,"seq":5}`)
	require.EqualValues(t, 5, c.read()["seq"])
	require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
}
