package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// stubInspector says what it is given.
type stubInspector struct {
	mu     sync.Mutex
	sample Sample
	look   UserLook
	err    error
	slow   bool // a Sample never comes back
	asked  int
}

func (s *stubInspector) Sample(ctx context.Context, n int) (Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = n
	if s.slow {
		<-ctx.Done()
		return Sample{}, ctx.Err()
	}
	return s.sample, s.err
}

func (s *stubInspector) Look(context.Context, presence.PublicID) (UserLook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look, s.err
}

func (s *stubInspector) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// watched runs f in a bubble with Stats over a hub's metrics.
func watched(t *testing.T, f func(t *testing.T, s *Stats, m *socketMetrics, reg *prometheus.Registry, users *stubInspector)) {
	synctest.Test(t, func(t *testing.T) {
		reg, users := prometheus.NewRegistry(), &stubInspector{}
		m, err := newSocketMetrics(reg)
		require.NoError(t, err)
		drops := prometheus.NewCounter(prometheus.CounterOpts{Name: "kith_history_dropped_rows_total"})
		depth := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kith_history_queued_rows"})
		reg.MustRegister(drops, depth)
		depth.Set(17)
		drops.Add(3)
		s := StartStats(StatsConfig{
			Instance: "n1#1", Version: "v1", Ready: readyStub(""), Users: users,
			Queues: []Queue{
				{Name: "rows", Depth: []string{"kith_history_queued_rows"}, Bound: 200, Drops: []string{"kith_history_dropped_rows_total"}, Full: "no ack"},
				{Name: "asks", Depth: []string{"kith_asks_pending"}},
			},
		}, reg, discard())
		defer s.Close()
		f(t, s, m, reg, users)
	})
}

type readyStub string

func (r readyStub) NotReady() string { return string(r) }

func TestStatsAreOfTheLastSeconds(t *testing.T) {
	watched(t, func(t *testing.T, s *Stats, m *socketMetrics, reg *prometheus.Registry, users *stubInspector) {
		fixes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kith_fixes_total"}, []string{"outcome"})
		deliveries := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kith_deliveries_total"}, []string{"kind"})
		reg.MustRegister(fixes, deliveries)
		first := s.body(0)
		require.Zero(t, first.Live.Fixes)
		require.Nil(t, first.Live.Ack50)
		require.Empty(t, first.Series.At)
		require.Equal(t, NodeStats{Instance: "n1#1", State: "serving", Version: "v1", Go: first.Node.Go, Started: first.Node.Started}, first.Node)
		time.Sleep(time.Second / 2) // between two readings

		users.set(func() { users.sample = Sample{Of: 9, Live: 5, Idle: 3, Stale: 1} })
		m.conns.Set(12)
		for range 10 {
			fixes.WithLabelValues("live").Add(30)
			fixes.WithLabelValues("late").Add(3)
			deliveries.WithLabelValues("owed").Add(100)
			deliveries.WithLabelValues("avoided").Add(300)
			m.ackSeconds.Observe(.04)
			m.pushSeconds.Observe(.002)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		b := s.body(0)
		require.EqualValues(t, 5, b.WindowS)
		require.Equal(t, 12, b.Live.Connections)
		require.InDelta(t, 33, b.Live.Fixes, .01)
		require.InDelta(t, 100, b.Live.Owed, .01)
		require.InDelta(t, 300, b.Live.Avoided, .01)
		require.InDelta(t, .0375, *b.Live.Ack50, .001, "of the bucket from 25 to 50 ms")
		require.InDelta(t, .0025, *b.Live.Push99, .0002)
		require.Equal(t, SampledStates{Of: 9, Live: 5, Idle: 3, Stale: 1}, b.Live.States)
		users.set(func() { require.Equal(t, 200, users.asked) })
		require.Equal(t, first.Node.Started, b.Node.Started)
		require.EqualValues(t, 10, b.Node.UptimeS)

		time.Sleep(6 * time.Second) // nothing happens any more
		synctest.Wait()
		quiet := s.body(0)
		require.Zero(t, quiet.Live.Fixes)
		require.Nil(t, quiet.Live.Ack50)
		require.Equal(t, []float64{33, 33, 0}, quiet.Series.Fixes)
		require.NotNil(t, quiet.Series.Ack50[1])
	})
}

func TestStatsRememberAQuarterOfAnHour(t *testing.T) {
	watched(t, func(t *testing.T, s *Stats, m *socketMetrics, _ *prometheus.Registry, _ *stubInspector) {
		time.Sleep(time.Second / 2) // between two readings
		for n := range 200 {
			m.conns.Set(float64(n))
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		b := s.body(0)
		require.EqualValues(t, 5, b.Series.EveryS)
		require.Len(t, b.Series.At, 180)
		for n, at := range b.Series.At {
			require.EqualValues(t, 20+n, b.Series.Connections[n], "oldest first")
			if n > 0 {
				require.EqualValues(t, 5000, at-b.Series.At[n-1])
			}
		}
		some := s.body(b.Series.At[176])
		require.Equal(t, b.Series.At[177:], some.Series.At)
		require.Len(t, some.Series.Push99, 3)
		require.Empty(t, s.body(b.At).Series.At)
	})
}

func TestStatsListRefusalsClosesAndQueues(t *testing.T) {
	watched(t, func(t *testing.T, s *Stats, m *socketMetrics, _ *prometheus.Registry, _ *stubInspector) {
		require.Empty(t, s.body(0).Refusals, "what was never counted is not listed")
		m.closed(presence.Slow)
		m.closed(presence.Slow)
		m.closed(closeAbnormal)
		m.closed(4999)
		m.errors[wire.BadJSON].Inc()
		m.refusedFixes[wire.BadCoordinate].Inc()
		m.refusedUpgrades.WithLabelValues("rate").Inc()
		time.Sleep(time.Second)
		synctest.Wait()
		b := s.body(0)
		slow, _ := wire.CloseInfo(presence.Slow)
		require.Equal(t, []Refused{
			{Kind: "close", Code: "1006", Name: "broken", Sentence: strayCloses["1006"][1], Total: 1, Rate: 1},
			{Kind: "close", Code: "4101", Name: slow.Name, Sentence: slow.Sentence, Anchor: "close-4101", Total: 2, Rate: 2},
			{Kind: "close", Code: "other", Name: "other", Sentence: strayCloses["other"][1], Total: 1, Rate: 1},
		}, b.Closes)
		require.Equal(t, []Refused{
			{Kind: "upgrade", Code: "rate", Sentence: upgradeSentences["rate"], Total: 1, Rate: 1},
			{Kind: "message", Code: "bad_json", Sentence: wire.BadJSON.Info().Sentence, Anchor: "error-bad-json", Total: 1, Rate: 1},
			{Kind: "fix", Code: "bad_coordinate", Sentence: wire.BadCoordinate.Info().Sentence, Anchor: "error-bad-coordinate", Total: 1, Rate: 1},
		}, b.Refusals)
		three := 3
		require.Equal(t, []QueueStats{
			{Name: "rows", Depth: 17, Bound: 200, Drops: &three, Full: "no ack"},
			{Name: "asks"},
		}, b.Queues)
		for _, reason := range []string{"not_ready", "origin", "subprotocol", "rate", "full", "handshake"} {
			require.NotEmpty(t, upgradeSentences[reason])
		}
	})
}

func TestStatsOutliveASlowSampleAndAFault(t *testing.T) {
	watched(t, func(t *testing.T, s *Stats, m *socketMetrics, _ *prometheus.Registry, users *stubInspector) {
		users.set(func() { users.sample = Sample{Of: 4, Live: 4} })
		time.Sleep(6 * time.Second)
		users.set(func() { users.slow = true })
		m.conns.Set(5)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.Equal(t, SampledStates{Of: 4, Live: 4}, s.body(0).Live.States, "the old one stays")
		require.Equal(t, 5, s.body(0).Live.Connections)
		users.set(func() { users.slow, users.err = false, errors.New("no") })
		time.Sleep(6 * time.Second)
		require.Equal(t, 4, s.body(0).Live.States.Of)
		s.Close()
		require.Equal(t, 5, s.body(0).Live.Connections, "what was read last stays")
	})
}

func TestStatsAnswer(t *testing.T) {
	s := StartStats(StatsConfig{Ready: readyStub("draining"), Users: &stubInspector{}}, newRegistry(), discard())
	defer s.Close()
	_, h := adminBench(AdminConfig{Stats: s})
	w := ask(h, "GET", "/v1/stats")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	var b map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &b))
	require.Equal(t, "draining", b["node"].(map[string]any)["state"])
	for _, list := range []string{"refusals", "closes", "queues"} {
		require.NotNil(t, b[list], "%s is a list also when empty", list)
	}
	require.Equal(t, 200, ask(h, "GET", "/v1/stats?since=1700000000000").Code)
	problem(t, ask(h, "GET", "/v1/stats?since=today"), 400, "bad_field")
	problem(t, ask(h, "GET", "/v1/stats", "Host", "evil.example.org"), 403, "forbidden")
}
