package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/cmd/node/sim"
	"github.com/kith-nearby/kith/presence"
)

// liar is a proxy for WebSockets that may change what the node says.
type liar struct {
	node string // ws://…
	lie  func(frame map[string]any)
}

// ServeHTTP passes frames both ways until one end is gone.
func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"kith.v1.json"}})
	if err != nil {
		return
	}
	defer client.CloseNow()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	node, _, err := websocket.Dial(ctx, l.node, nil)
	if err != nil {
		return
	}
	defer node.CloseNow()
	client.SetReadLimit(1 << 20)
	node.SetReadLimit(8 << 20)
	var both sync.WaitGroup
	pass := func(from, to *websocket.Conn, change func([]byte) []byte) {
		defer cancel()
		for {
			kind, text, err := from.Read(ctx)
			if err != nil || to.Write(ctx, kind, change(text)) != nil {
				return
			}
		}
	}
	both.Go(func() { pass(client, node, func(text []byte) []byte { return text }) })
	both.Go(func() { pass(node, client, l.change) })
	both.Wait()
}

func (l *liar) change(text []byte) []byte {
	var frame map[string]any
	if json.Unmarshal(text, &frame) != nil || frame["type"] != "friends" {
		return text
	}
	l.lie(frame)
	out, err := json.Marshal(frame)
	if err != nil {
		return text
	}
	return out
}

// near are the friends whom a frame shows.
func near(frame map[string]any) []map[string]any {
	var out []map[string]any
	list, _ := frame["near"].([]any)
	for _, one := range list {
		out = append(out, one.(map[string]any))
	}
	return out
}

// TestSim_FindsWhatIsChangedOnTheWay runs people against a real node through a
// proxy that lies to them.
func TestSim_FindsWhatIsChangedOnTheWay(t *testing.T) {
	for _, c := range []struct {
		name, kind, why string
		lie             func(frame map[string]any)
	}{
		{name: "nothing", lie: func(map[string]any) {}},
		{name: "places", kind: "wrong", why: "is shown where they never were", lie: func(f map[string]any) {
			for _, n := range near(f) {
				n["lat"] = n["lat"].(float64) + 0.00001
			}
		}},
		{name: "distances", kind: "wrong", why: "is shown at a distance that is not so", lie: func(f map[string]any) {
			for _, n := range near(f) {
				n["distance_m"] = n["distance_m"].(float64) + 1
			}
		}},
		{name: "friends", kind: "missing", why: "is near and not shown", lie: func(f map[string]any) { f["near"] = []any{} }},
		{name: "strangers", kind: "ghost", why: "is no friend", lie: func(f map[string]any) {
			for _, n := range near(f) {
				n["user"] = "nobody"
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := simulated(t, c.lie)
			require.Positive(t, r.Fixes)
			require.Zero(t, r.GaveUp+r.Unsettled, "%v", r.Lost)
			if c.kind == "" {
				require.NoError(t, r.Err(), "%v", r.Examples)
				require.GreaterOrEqual(t, r.Pairs, int64(people*(people-1)))
				return
			}
			require.ErrorContains(t, r.Err(), c.kind)
			found := map[string]bool{}
			for _, f := range r.Examples {
				found[f.Kind+" "+f.Why] = true
			}
			require.Contains(t, found, c.kind+" "+c.why)
		})
	}
}

// people who are all friends, in one city.
const people = 6

func simulated(t *testing.T, lie func(frame map[string]any)) sim.Result {
	tw := newTown(t, func(c *config.Config) { c.Presence.MaxSpeedMPS = 100 })
	berlin, err := sim.FindCity("Berlin")
	require.NoError(t, err)
	p, err := sim.Make{Seed: 4, Users: people, Friends: people - 1, SameCity: 1, Town: &berlin, Scatter: 500}.Population()
	require.NoError(t, err)
	require.Equal(t, people*(people-1)/2, p.Pairs)
	require.NoError(t, p.Each(func(a, b string) error {
		tw.befriend(a, b)
		return nil
	}))
	proxy := httptest.NewServer(&liar{node: tw.node.SocketURL(), lie: lie})
	t.Cleanup(proxy.Close)
	cfg := sim.Default()
	cfg.URL, cfg.People = "ws"+strings.TrimPrefix(proxy.URL, "http"), p
	cfg.Token = func(user string) (string, error) {
		return tw.auth.Issue(presence.PublicID(user), time.Hour, time.Now())
	}
	cfg.Interval, cfg.For, cfg.Tolerance, cfg.Dropouts, cfg.Grace = time.Second, 2500*time.Millisecond, 1500*time.Millisecond, 0, tw.cfg.Presence.OfflineGrace
	cfg.Mix = sim.Mix{1, 1, 0, 0}
	s, err := sim.New(cfg)
	require.NoError(t, err)
	return s.Run(t.Context())
}
