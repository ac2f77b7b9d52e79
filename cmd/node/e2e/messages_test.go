package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

func TestE7_Connect(t *testing.T) {
	s := serve(t)
	good := token(t, "ann", time.Hour)

	p := s.dial(nil)
	p.name = "ann"
	p.refused(obj{"type": "fix", "seq": 1, "lat": 1, "lng": 1}, "not_connected", "")
	p.refused(obj{"type": "still"}, "not_connected", "")
	p.refused(obj{"type": "connect"}, "bad_field", "token")
	p.refused(obj{"type": "connect", "token": good, "radius_m": 99}, "bad_field", "radius_m")
	p.refused(obj{"type": "connect", "token": good, "radius_m": 50_001}, "bad_field", "radius_m")
	p.refused(obj{"type": "connect", "token": good, "device": ""}, "bad_field", "device")
	p.refused(obj{"type": "connect", "token": good, "device": repeat("x", 65)}, "bad_field", "device")
	before := time.Now()
	c := p.answer(obj{"type": "connect", "token": good}) // neither device nor radius
	require.Equal(t, "connected", c.Type, c.raw)
	require.Equal(t, "ann", c.User)
	require.Regexp(t, `^n1#\d+$`, c.Node)
	require.Positive(t, c.Session)
	require.InDelta(t, before.UnixMilli(), c.Now, 5000)
	require.Equal(t, 8047.0, c.Config.RadiusM)
	require.InDelta(t, 8047*1.05, c.Config.ExitRadiusM, 0.01)
	require.Equal(t, []float64{30, 600, 25}, []float64{c.Config.FixS, c.Config.StaleS, c.Config.PingS})
	require.Equal(t, 65_536, c.Config.MaxFrameBytes)
	p.refused(obj{"type": "connect", "token": good}, "conflict", "")
	p.accepted(obj{"type": "token", "token": good})

	wide := s.connect("ann", "watch", obj{"radius_m": 50_000, "unknown": []any{obj{"x": 1}}})
	wide.accepted(obj{"type": "radius", "radius_m": 100})

	_, err := s.tryDial(&websocket.DialOptions{Subprotocols: []string{"kith.v9.xml"}})
	require.ErrorContains(t, err, "400", "a subprotocol that is not served")
	named := s.dial(&websocket.DialOptions{Subprotocols: []string{"other", "kith.v1.json"}})
	require.Equal(t, "kith.v1.json", named.ws.Subprotocol())
}

// Where a browser's page may come from is a list; programs send no Origin.
func TestE7_Origins(t *testing.T) {
	s := serve(t, "gateway.origins=https://app.example.org")
	from := func(origin string) *websocket.DialOptions {
		return &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}}
	}
	for _, origin := range []string{"https://evil.example.org", "http://app.example.org", "https://app.example.org:444", "null"} {
		_, err := s.tryDial(from(origin))
		require.ErrorContains(t, err, "403", origin)
	}
	s.dial(from("https://app.example.org"))
	s.dial(nil)
}

func TestE7_Fixes(t *testing.T) {
	s := serve(t)
	p := s.connect("ann", "phone")
	seq := p.fix(lat0, lng0) // without ts
	ack := p.next("ack")
	require.Equal(t, seq, *ack.Seq)
	require.Equal(t, 30.0, ack.NextS)
	full := p.next("friends")
	require.True(t, full.Full)
	require.NotNil(t, full.Near)

	p.refused(obj{"type": "fix", "seq": 90, "lng": 1}, "bad_field", "lat")
	p.refused(obj{"type": "fix", "lat": 1, "lng": 1}, "bad_field", "seq")
	for _, c := range []struct {
		fix         obj
		code, field string
	}{
		{obj{"lat": 90.1, "lng": 1}, "bad_coordinate", "lat"},
		{obj{"lat": 1, "lng": -180.1}, "bad_coordinate", "lng"},
		{obj{"lat": 1, "lng": 1, "ts": time.Now().Unix()}, "bad_time", "ts"},
		{obj{"lat": 1, "lng": 1, "ts": time.Now().Add(25 * time.Hour).UnixMilli()}, "bad_time", "ts"},
	} {
		m := obj{"type": "fix", "seq": 91}
		for k, v := range c.fix {
			m[k] = v
		}
		e := p.refused(m, c.code, c.field)
		require.EqualValues(t, 91, *e.Seq)
		require.False(t, e.Temporary)
	}

	now := time.Now()
	ahead := now.Add(10 * time.Minute).UnixMilli()
	p.send(obj{"type": "fixes", "fixes": []obj{
		{"seq": 103, "lat": lat0, "lng": lng0, "ts": now.UnixMilli()},
		{"seq": 102, "lat": 100, "lng": lng0, "ts": now.UnixMilli()},
		{"seq": 101, "lat": lat0, "lng": lng0, "ts": now.Add(-time.Hour).UnixMilli(), "acc": 12.5, "mock": true},
		{"seq": 104, "lat": lat0, "lng": lng0, "ts": ahead},
	}})
	bad := p.next("error")
	require.Equal(t, "bad_coordinate", bad.Code)
	require.EqualValues(t, 102, *bad.Seq)
	p.acked(104)
	p.send(obj{"type": "still"})
	p.send(obj{"type": "still", "seq": 105})
	p.acked(105)
	p.refused(obj{"type": "fixes", "fixes": []obj{}}, "bad_field", "fixes")

	rows := s.history("ann", 2)
	seqs := map[uint64]row{}
	last := int64(0)
	for _, r := range rows {
		seqs[r.Seq] = r
		require.Equal(t, "phone", r.Device)
		require.GreaterOrEqual(t, r.TS, last, "in order of time")
		last = r.TS
	}
	require.Len(t, rows, 4, "what was refused is nowhere")
	require.Equal(t, 12.5, *seqs[101].Acc)
	require.True(t, seqs[101].Mock)
	require.Equal(t, ahead, seqs[104].Sent, "the device's own time is kept")
	require.InDelta(t, now.UnixMilli(), seqs[104].TS, 5000, "and taken at the server's")

	// The same again is not there twice; the same seq at another time is.
	p.send(obj{"type": "fix", "seq": 101, "lat": lat0, "lng": lng0, "ts": now.Add(-time.Hour).UnixMilli()})
	p.send(obj{"type": "fix", "seq": 101, "lat": lat0, "lng": lng0, "ts": now.Add(-2 * time.Hour).UnixMilli()})
	p.send(obj{"type": "fix", "seq": 106, "lat": lat0, "lng": lng0, "ts": now.UnixMilli() + 1})
	p.acked(106)
	require.Len(t, s.history("ann", 100), 6)
}

func TestE7_TheView(t *testing.T) {
	s := serve(t)
	s.befriend("ann", "bob")
	ann, bob := s.connect("ann", ""), s.connect("bob", "", obj{"radius_m": 1000})
	ann.at(lat0, lng0)
	bob.at(lat0+2000*metre, lng0, obj{"acc": 8, "speed": 1.5, "heading": 90, "battery": 0.5})
	n := ann.sees("bob")
	require.True(t, n.Entered)
	require.InDelta(t, 2000, n.DistanceM, 1)
	require.InDelta(t, 0, n.Bearing, 0.01)
	require.Equal(t, []float64{8, 1.5, 90, 0.5}, []float64{*n.Acc, *n.Speed, *n.Heading, *n.Battery})
	require.Equal(t, []string{"live", "exact"}, []string{n.State, n.Precision})
	require.InDelta(t, lat0+2000*metre, n.Lat, 1e-7)
	require.InDelta(t, time.Now().UnixMilli(), n.TS, 5000)
	require.Empty(t, bob.view, "bob's radius is his own")
	bob.accepted(obj{"type": "radius", "radius_m": 3000})
	require.True(t, bob.match("his view", func(f frame) bool { return f.Full && len(f.Near) == 1 }).Near[0].Entered)
	bob.send(obj{"type": "still"})
	require.Equal(t, "idle", ann.match("bob rests", func(f frame) bool { return len(f.Near) == 1 && f.Near[0].State == "idle" }).Near[0].State)

	var http1 struct{ Near []near }
	s.as("ann", http.MethodGet, "/v1/nearby", nil, http.StatusOK).into(t, &http1)
	ann.mu.Lock()
	want := ann.view["bob"]
	ann.mu.Unlock()
	want.Entered = false
	require.Equal(t, []near{want}, http1.Near, "the same answer as over the WebSocket")

	ann.accepted(obj{"type": "radius", "radius_m": 100})
	require.Empty(t, ann.match("her view", func(f frame) bool { return f.Full && len(f.Near) == 0 }).Near)
}

func TestE7_FriendsAndShares(t *testing.T) {
	s := serve(t)
	ann, bob := s.connect("ann", ""), s.connect("bob", "")
	ann.at(lat0, lng0)
	bob.at(lat0+100*metre, lng0)
	ann.refused(obj{"type": "friend", "op": "request", "user": "ann"}, "bad_field", "user")
	ann.refused(obj{"type": "friend", "op": "request", "user": "nobody"}, "not_found", "")
	ann.refused(obj{"type": "friend", "op": "marry", "user": "bob"}, "bad_field", "op")
	ann.refused(obj{"type": "friend", "op": "request", "user": "not an id"}, "bad_field", "user")
	ann.refused(obj{"type": "friend", "op": "accept", "user": "bob"}, "not_found", "")

	ann.accepted(obj{"type": "friend", "op": "request", "user": "bob"})
	require.Equal(t, "ann", bob.next("request").User)
	require.Equal(t, "ann", s.connect("bob", "tablet").next("request").User, "and whoever connects later")
	bob.accepted(obj{"type": "friend", "op": "decline", "user": "ann"})
	ann.accepted(obj{"type": "friend", "op": "request", "user": "bob"})
	// Who asks again and again is heard once a minute, but the request is there.
	require.Equal(t, "ann", s.connect("bob", "laptop").next("request").User)
	bob.accepted(obj{"type": "friend", "op": "accept", "user": "ann"})
	f := ann.next("friend")
	require.Equal(t, []string{"bob", "accepted"}, []string{f.User, f.Op})
	ann.sees("bob")
	bob.sees("ann")

	bob.accepted(obj{"type": "share", "user": "ann", "mode": "area"})
	area := ann.match("bob's area", func(f frame) bool { return len(f.Near) == 1 && f.Near[0].Precision == "area" }).Near[0]
	require.Greater(t, haversine(area.Lat, area.Lng, lat0+100*metre, lng0), 1.0)
	require.Less(t, haversine(area.Lat, area.Lng, lat0+100*metre, lng0), 800.0, "half a diagonal of 1 km")
	require.Nil(t, area.Speed)
	bob.accepted(obj{"type": "share", "mode": "none"})
	ann.loses("bob", "hidden")
	bob.loses("ann", "hidden")
	bob.accepted(obj{"type": "share", "mode": "exact"})
	bob.accepted(obj{"type": "share", "user": "ann", "mode": "exact", "until": time.Now().Add(time.Second).UnixMilli()})
	ann.match("bob again", func(f frame) bool { return len(f.Near) == 1 && f.Near[0].Precision == "exact" })
	ann.loses("bob", "hidden")
	bob.loses("ann", "hidden")
	bob.refused(obj{"type": "share", "mode": "exact", "until": time.Now().Unix()}, "bad_time", "until")
	bob.refused(obj{"type": "share", "mode": "exact", "until": time.Now().Add(-time.Minute).UnixMilli()}, "bad_time", "until")
	bob.refused(obj{"type": "share", "mode": "all"}, "bad_field", "mode")
	bob.refused(obj{"type": "share", "user": "nobody", "mode": "none"}, "not_found", "")

	bob.accepted(obj{"type": "share", "user": "ann", "mode": "exact"})
	ann.sees("bob")
	bob.sees("ann")
	ann.accepted(obj{"type": "friend", "op": "remove", "user": "bob"})
	ann.loses("bob", "unfriended")
	bob.loses("ann", "unfriended")
	f = bob.next("friend")
	require.Equal(t, []string{"ann", "removed"}, []string{f.User, f.Op})

	ann.accepted(obj{"type": "friend", "op": "block", "user": "bob"})
	blocked := bob.answer(obj{"type": "friend", "op": "request", "user": "ann"})
	absent := bob.answer(obj{"type": "friend", "op": "request", "user": "nobody"})
	require.Equal(t, []string{"not_found", absent.Message}, []string{blocked.Code, blocked.Message}, "as if ann did not exist")
	ann.accepted(obj{"type": "friend", "op": "unblock", "user": "bob"})
	bob.accepted(obj{"type": "friend", "op": "request", "user": "ann"})
	require.Equal(t, "bob", ann.next("request").User)
}

func TestE7_WhatIsNotServedYet(t *testing.T) {
	s := serve(t)
	p := s.connect("ann", "")
	for _, m := range []obj{
		{"type": "strangers", "on": true},
		{"type": "strangers", "on": true, "for_s": 60},
		{"type": "strangers", "on": false},
		{"type": "room", "op": "create"},
		{"type": "room", "op": "join", "room": "r1"},
		{"type": "room", "op": "send", "room": "r1", "text": "hello"},
	} {
		e := p.refused(m, "unavailable", "")
		require.False(t, e.Temporary, "trying again does not help")
	}
	p.refused(obj{"type": "room", "op": "dance"}, "bad_field", "op")
	p.refused(obj{"type": "strangers"}, "bad_field", "on")
	p.send(obj{"type": "pong"})
	p.send(obj{"type": "still", "seq": 1})
	p.acked(1)
}
