package gateway

import (
	"strings"
	"testing"

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

// After Stop nothing of the hub runs, and every client sees its connection end.
func TestGW17_StopEndsEverything(t *testing.T) {
	s := newStage(t, nil)
	c := s.connected("alice")
	waits := s.dial()
	s.hub.Stop()
	require.Zero(t, s.hub.Len())
	c.closed()
	waits.closed()
	s.hub.Push(1, &presence.Change{Full: true}) // nobody is there
}
