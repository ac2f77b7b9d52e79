package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

func near(user presence.PublicID, metres float32, entered bool) presence.Near {
	at, err := geo.FromDegrees(59.3, 18.1)
	if err != nil {
		panic(err)
	}
	return presence.Near{
		Position: &presence.Position{
			User: user, At: at, TS: 1_700_000_000_000, Accuracy: 5, Speed: presence.Unset(),
			Heading: presence.Unset(), Battery: presence.Unset(), Born: micros(time.Now()),
		},
		Distance: metres, Entered: entered,
	}
}

func TestGW1_ConnectedComesFirst(t *testing.T) {
	s := newStage(t, nil)
	s.people.requests = []presence.PublicID{"carol"}
	c := s.dial()
	c.send(`{"type":"connect","id":"c1","token":%q,"device":"phone","radius_m":500}`, s.token("alice", time.Hour))
	m := c.read()
	require.Equal(t, "connected", m["type"])
	require.Equal(t, "c1", m["id"])
	require.Equal(t, "alice", m["user"])
	require.Equal(t, "n1", m["node"])
	require.EqualValues(t, 77, m["session"])
	require.InDelta(t, float64(time.Now().UnixMilli()), m["now"], 5000)
	require.Equal(t, map[string]any{
		"radius_m": 8047.0, "exit_radius_m": 8449.35, "fix_s": 30.0, "stale_s": 600.0, "ping_s": 25.0, "max_frame_bytes": 65536.0,
	}, m["config"])
	require.Equal(t, message{"type": "request", "user": "carol"}, c.read())
	require.Equal(t, []string{"attach 1 phone 500"}, s.live.called())

	c.send(`{"type":"radius","id":"r","radius_m":1000}`)
	require.Equal(t, message{"type": "ok", "id": "r"}, c.read(), "ok precedes the view")
	m = c.read()
	require.Equal(t, "friends", m["type"])
	require.Equal(t, true, m["full"])
	require.NoError(t, c.ws.Close(websocket.StatusNormalClosure, "bye"))
	s.eventually("detach", func() bool { return s.hub.Len() == 0 })
	require.Equal(t, []string{"attach 1 phone 500", "radius 1 1000", "detach 1"}, s.live.called())
}

func TestGW2_NothingBeforeConnect(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.ConnectWithin = 300 * time.Millisecond })
	c := s.dial()
	c.send(`{"type":"fix","id":"x","lat":1,"lng":2,"seq":3}`)
	m := c.read()
	require.Equal(t, "not_connected", m["code"])
	require.Equal(t, "x", m["id"])
	c.send(`nonsense`)
	require.Equal(t, "bad_json", c.read()["code"])
	c.send(`{"type":"connect","token":"x","radius_m":99}`)
	m = c.read()
	require.Equal(t, "bad_field", m["code"])
	require.Equal(t, "radius_m", m["field"])
	code, reason := c.closed()
	require.Equal(t, 4004, code)
	require.NotEmpty(t, reason)
	require.Empty(t, s.live.called())
}

func TestGW3_WhoMayNotComeIn(t *testing.T) {
	s := newStage(t, nil)
	s.people.unknown["nobody"] = true
	past, err := s.auth.Issue("alice", time.Hour, time.Now().Add(-2*time.Hour))
	require.NoError(t, err)
	for _, row := range []struct {
		token, code string
		closes      int
	}{
		{"junk", "unauthorized", 4001},
		{past, "unauthorized", 4002},
		{s.token("nobody", time.Hour), "unauthorized", 4001},
	} {
		c := s.dial()
		c.send(`{"type":"connect","id":"i","token":%q}`, row.token)
		m := c.read()
		require.Equal(t, row.code, m["code"])
		require.Equal(t, "i", m["id"])
		require.Equal(t, "token", m["field"])
		code, reason := c.closed()
		require.Equal(t, row.closes, code)
		require.Equal(t, m["message"], reason)
	}
	s.people.set(ErrUnavailable, false)
	c := s.dial()
	c.send(`{"type":"connect","token":%q}`, s.token("alice", time.Hour))
	m := c.read()
	require.Equal(t, "unavailable", m["code"])
	require.Equal(t, true, m["temporary"])
	code, _ := c.closed()
	require.Equal(t, 4104, code)
	require.Empty(t, s.live.called(), "nobody was attached")
}

func TestGW3_NoAnswerOfTheActor(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.CallWithin, c.WelcomeWithin = 100*time.Millisecond, 100*time.Millisecond })
	s.live.mute = true
	c := s.dial()
	c.send(`{"type":"connect","token":%q}`, s.token("alice", time.Hour))
	code, _ := c.closed()
	require.Equal(t, 4104, code)
	s.eventually("detach", func() bool { return len(s.live.called()) == 2 })
}

func TestGW4_FixesReachTheActorSortedAndAreAcknowledged(t *testing.T) {
	s := newStage(t, nil)
	s.live.durable = true
	c := s.connected("alice")
	c.send(`{"type":"fix","lat":59.3,"lng":18.1,"seq":7,"acc":5}`)
	require.Equal(t, message{"type": "ack", "seq": 7.0, "next_s": 30.0}, c.read())
	c.send(`{"type":"fixes","id":"b","fixes":[{"lat":1,"lng":2,"seq":12},{"lat":91,"lng":2,"seq":10},{"lat":1,"lng":2,"seq":9},{"lat":1,"lng":2,"seq":11,"ts":5}]}`)
	m := c.read()
	require.Equal(t, "bad_coordinate", m["code"])
	require.EqualValues(t, 10, m["seq"])
	require.Equal(t, "lat", m["field"])
	require.Equal(t, "b", m["id"])
	m = c.read()
	require.Equal(t, "bad_time", m["code"])
	require.EqualValues(t, 11, m["seq"])
	require.Equal(t, message{"type": "ack", "seq": 12.0, "next_s": 30.0}, c.read())
	got := s.live.reported()
	require.Len(t, got, 2)
	require.Len(t, got[1].Fixes, 2)
	require.EqualValues(t, 9, got[1].Fixes[0].Seq)
	require.EqualValues(t, 12, got[1].LastSeq())
	require.Equal(t, presence.DefaultDevice, got[1].Device)
	require.NotZero(t, got[1].Received)

	c.send(`{"type":"fixes","fixes":[{"lat":91,"lng":2,"seq":13}]}`)
	require.EqualValues(t, 13, c.read()["seq"])
	c.send(`{"type":"still","seq":14}`)
	require.Equal(t, message{"type": "ack", "seq": 14.0, "next_s": 30.0}, c.read(), "and none for the refused")
	require.Len(t, s.live.reported(), 2)
}

func TestGW5_LostFixesAreNeverAcknowledged(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.RecoverWithin = 50 * time.Millisecond })
	c, other := s.connected("alice"), s.connected("bob")
	for seq := 1; seq <= 3; seq++ {
		c.send(`{"type":"fix","lat":59.3,"lng":18.1,"seq":%d}`, seq)
	}
	s.eventually("reports", func() bool { return len(s.live.reported()) == 3 })
	b := s.live.reported()
	s.hub.Durable(b[0])
	require.EqualValues(t, 1, c.read()["seq"])
	s.hub.Lost(b[1])
	s.hub.Durable(b[2])
	c.send(`{"type":"still","seq":4}`)
	c.send(`{"type":"share","mode":"none"}`)
	require.Equal(t, "ok", c.read()["type"], "no ack over the hole")
	s.hub.Recovered()
	code, _ := c.closed()
	require.Equal(t, 4104, code)
	other.send(`{"type":"share","mode":"none"}`)
	require.Equal(t, "ok", other.read()["type"], "who lost nothing stays")
}

func TestGW5_Waiters(t *testing.T) {
	s := newStage(t, nil)
	a, b := s.hub.Await(), s.hub.Await()
	require.NotEqual(t, a.ID(), b.ID())
	s.hub.Durable(&presence.Batch{Conn: a.ID()})
	s.hub.Lost(&presence.Batch{Conn: b.ID()})
	require.NoError(t, a.Wait(t.Context()))
	err := b.Wait(t.Context())
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, err, ErrUnavailable)
	a.Close()
	a.Close()
	b.Close()
	s.hub.Durable(&presence.Batch{Conn: a.ID()}) // nobody is there any more
}

func TestGW6_CallsToTheAccounts(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.CallWithin = 50 * time.Millisecond })
	c := s.connected("alice")
	until := time.Now().Add(time.Hour).UnixMilli()
	c.send(`{"type":"friend","id":"1","op":"request","user":"bob"}`)
	require.Equal(t, message{"type": "ok", "id": "1"}, c.read())
	c.send(`{"type":"share","id":"2","user":"bob","mode":"area","until":%d}`, until)
	require.Equal(t, message{"type": "ok", "id": "2"}, c.read())
	require.Equal(t, []string{"login alice", "friend 1 request bob", `share 1 "bob" area true`}, s.people.called())
	for _, row := range []struct {
		err  error
		hang bool
		code string
		temp bool
	}{
		{ErrNotFound, false, "not_found", false},
		{fmt.Errorf("x: %w", ErrConflict), false, "conflict", false},
		{ErrTooMany, false, "too_many", false},
		{ErrForbidden, false, "forbidden", false},
		{ErrSelf, false, "bad_field", false},
		{ErrUnavailable, false, "unavailable", true},
		{errors.New("boom"), false, "internal", true},
		{nil, true, "unavailable", true},
	} {
		s.people.set(row.err, row.hang)
		c.send(`{"type":"friend","id":"e","op":"accept","user":"bob"}`)
		m := c.read()
		require.Equal(t, row.code, m["code"])
		require.Equal(t, row.temp, m["temporary"], row.code)
		require.Equal(t, "e", m["id"])
		require.NotContains(t, m["message"], "boom")
	}
	for _, frame := range []string{`{"type":"room","op":"join","room":"r","id":"u"}`, `{"type":"strangers","on":true,"id":"u"}`} {
		c.send("%s", frame)
		m := c.read()
		require.Equal(t, "unavailable", m["code"])
		require.Equal(t, "u", m["id"])
	}
	c.send(`{"type":"wave","id":"u"}`)
	require.Equal(t, "unknown_type", c.read()["code"])
	c.send(`{"type":"connect","token":"x"}`)
	require.Equal(t, "conflict", c.read()["code"])
}

func TestGW7_Tokens(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.ExpiringBefore = 1500 * time.Millisecond })
	c := s.dial()
	c.send(`{"type":"connect","token":%q}`, s.token("alice", 2*time.Second))
	require.Equal(t, "connected", c.read()["type"])
	c.send(`{"type":"token","id":"t","token":%q}`, s.token("bob", time.Hour))
	require.Equal(t, "forbidden", c.read()["code"])
	c.send(`{"type":"token","id":"t","token":"junk"}`)
	require.Equal(t, "unauthorized", c.read()["code"])
	require.Equal(t, "expiring", c.read()["type"])
	c.send(`{"type":"token","id":"t","token":%q}`, s.token("alice", 3*time.Second))
	require.Equal(t, message{"type": "ok", "id": "t"}, c.read())
	require.Equal(t, "expiring", c.read()["type"], "of the fresh one")
	code, _ := c.closed()
	require.Equal(t, 4002, code)
}

func TestGW8_WhoMayUpgrade(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) {
		c.Origins = NewOrigins([]string{"https://app.example.org"}, false)
		c.MaxConns = 2
	})
	require.Equal(t, 403, statusOf(t, s, http.Header{"Origin": {"https://evil.example"}}).StatusCode)
	require.Equal(t, 101, statusOf(t, s, http.Header{"Origin": {"https://app.example.org"}}).StatusCode)
	resp := statusOf(t, s, http.Header{"Sec-Websocket-Protocol": {"other, kith.v1.json"}})
	require.Equal(t, 101, resp.StatusCode)
	require.Equal(t, "kith.v1.json", resp.Header.Get("Sec-Websocket-Protocol"))
	resp = statusOf(t, s, nil)
	require.Equal(t, 503, resp.StatusCode, "full")
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	require.Equal(t, 400, statusOf(t, s, http.Header{"Sec-Websocket-Protocol": {"other"}}).StatusCode)
	s.ready.set("draining")
	require.Equal(t, 503, statusOf(t, s, nil).StatusCode)
	s.ready.set("")
}

func TestGW8_ConnectRates(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.ConnectsPerS, c.IPConnects = 1, 1 })
	require.Equal(t, 101, statusOf(t, s, nil).StatusCode)
	require.Equal(t, 101, statusOf(t, s, nil).StatusCode)
	require.Equal(t, 503, statusOf(t, s, nil).StatusCode)

	sockets := NewSockets(s.hub, SocketPorts{Readiness: s.ready}, s.auth)
	now := time.Now()
	count := func(remote func(i int) string) (n int) {
		for i := range 50 {
			if sockets.ipMay(&http.Request{RemoteAddr: remote(i)}, now) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 50, count(func(int) string { return "127.0.0.1:1" }), "loopback has no limit")
	require.Equal(t, 5, count(func(int) string { return "192.0.2.1:1" }))
	require.Equal(t, 5, count(func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1", i) }), "one /64 is one client")
	require.Equal(t, 50, count(func(i int) string { return fmt.Sprintf("[2001:db8:%x::1]:1", i+1) }))
}

func TestGW9_PushesAndNotices(t *testing.T) {
	s := newStage(t, nil)
	c := s.connected("alice")
	id := s.connID()
	s.hub.Notify(id, presence.Notice{Kind: presence.Requested, User: "carol"})
	require.Equal(t, message{"type": "request", "user": "carol"}, c.read())
	s.hub.Push(id, &presence.Change{Full: true, Near: []presence.Near{near("bob", 12.34, true)}})
	m := c.read()
	require.Equal(t, "friends", m["type"])
	require.Equal(t, true, m["full"])
	v := m["v"].(float64)
	s.hub.Push(id, &presence.Change{Gone: []presence.Gone{{User: "bob", Reason: presence.Away}}})
	m = c.read()
	require.Greater(t, m["v"], v)
	require.Equal(t, []any{map[string]any{"user": "bob", "reason": "away"}}, m["gone"])
	s.hub.Notify(id, presence.Notice{Kind: presence.Accepted, User: "bob"})
	require.Equal(t, message{"type": "friend", "user": "bob", "op": "accepted"}, c.read())
	s.hub.Close(id, presence.Replaced)
	code, reason := c.closed()
	require.Equal(t, 4003, code)
	require.NotEmpty(t, reason)
	s.hub.Push(id, &presence.Change{Full: true}) // gone: nothing happens
}

func TestGW10_Pings(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.PingEvery, c.PongWithin = 200*time.Millisecond, 200*time.Millisecond })
	c := s.connected("alice")
	for range 3 {
		require.Equal(t, "ping", c.read()["type"])
		c.send(`{"type":"pong"}`)
	}
	require.Equal(t, "ping", c.read()["type"])
	began := time.Now()
	code, _ := c.closed()
	require.Equal(t, 4102, code)
	require.Less(t, time.Since(began), time.Second)
}

func TestGW11_RateLimits(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.FixesPerS, c.FrameBurst = 1, 3 })
	s.live.durable = true
	c := s.connected("alice")
	refused := 0
	for seq := range 6 {
		c.send(`{"type":"fix","id":"f","lat":1,"lng":2,"seq":%d}`, seq)
		m := c.read()
		if m["type"] == "error" {
			require.Equal(t, "too_many", m["code"])
			require.EqualValues(t, seq, m["seq"])
			require.Equal(t, true, m["temporary"])
			refused++
		}
	}
	require.Equal(t, 3, refused)
	require.Len(t, s.live.reported(), 3, "a refused fix is nowhere")
}

func TestGW11_FloodsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s")
	}
	s := newStage(t, func(c *SocketConfig) { c.FixesPerS, c.FrameBurst = 1, 1 })
	c := s.connected("alice")
	stop := time.Now().Add(10 * time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for time.Now().Before(stop) {
			if err := c.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"pong"}`)); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	require.Eventually(t, func() bool { return s.hub.Len() == 0 }, 8*time.Second, 10*time.Millisecond)
	code, _ := c.closed()
	require.Equal(t, 4005, code)
	_ = c.ws.CloseNow()
	<-done
}

func TestGW12_Drain(t *testing.T) {
	s := newStage(t, nil)
	clients := make([]*client, 20)
	for i := range clients {
		clients[i] = s.connected(presence.PublicID(fmt.Sprintf("u%d", i)))
	}
	done := make(chan struct{})
	began := time.Now()
	go func() {
		s.hub.Drain(t.Context(), 400*time.Millisecond, "maintenance")
		close(done)
	}()
	retries := map[float64]bool{}
	for _, c := range clients {
		m := c.readType("drain")
		require.Equal(t, "maintenance", m["reason"])
		require.LessOrEqual(t, m["retry_after_ms"], 400.0)
		retries[m["retry_after_ms"].(float64)] = true
		code, _ := c.closed()
		require.Equal(t, 4100, code)
	}
	<-done
	require.Greater(t, len(retries), 5, "not all at the same time")
	require.GreaterOrEqual(t, time.Since(began), 350*time.Millisecond, "paced")
	require.Equal(t, 503, statusOf(t, s, nil).StatusCode)
	s.eventually("empty", func() bool { return s.hub.Len() == 0 })
}

func TestGW12_ASecondDrainEndsAtOnce(t *testing.T) {
	s := newStage(t, nil)
	for i := range 5 {
		s.connected(presence.PublicID(fmt.Sprintf("u%d", i)))
	}
	done := make(chan struct{})
	go func() {
		s.hub.Drain(t.Context(), time.Hour, "maintenance")
		close(done)
	}()
	s.eventually("draining", s.hub.draining.Load)
	s.hub.Drain(t.Context(), time.Hour, "again")
	<-done
	s.eventually("empty", func() bool { return s.hub.Len() == 0 })
}

func TestSocketConfigNamesEveryFault(t *testing.T) {
	cfg := DefaultSocketConfig()
	require.NoError(t, cfg.Validate())
	err := (&SocketConfig{}).Validate()
	for _, name := range []string{"max_frame_bytes", "fixes_per_s", "max_radius_m", "fix_interval", "PingEvery", "FlushBytes"} {
		require.ErrorContains(t, err, name)
	}
	require.Greater(t, strings.Count(err.Error(), "\n"), 8)
}
