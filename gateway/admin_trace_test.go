package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// looking is a stage with an admin port.
type looking struct {
	*stage
	users *stubInspector
	admin *httptest.Server
}

func newLooking(t *testing.T) *looking {
	l := &looking{stage: newStage(t, nil), users: &stubInspector{}}
	l.live.durable = true
	l.admin = httptest.NewServer(NewAdminHandler(AdminConfig{Users: l.users, Hub: l.hub}, &fakeCluster{}, l.reg, discard(), l.reg))
	t.Cleanup(func() {
		l.hub.Stop() // ends traces
		l.admin.Close()
	})
	return l
}

// trace opens a live trace and returns its events: name and data.
func (l *looking) trace(ctx context.Context, user string) (status int, events <-chan [2]string) {
	req, err := http.NewRequestWithContext(ctx, "GET", l.admin.URL+"/v1/users/"+user+"/trace", nil)
	require.NoError(l.t, err)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(l.t, err)
	out := make(chan [2]string, 64)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		name := ""
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			if text, ok := strings.CutPrefix(in.Text(), "event: "); ok {
				name = text
			}
			if text, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				out <- [2]string{name, text}
			}
		}
	}()
	return resp.StatusCode, out
}

// until waits for an event of a trace that is as wanted.
func (l *looking) until(events <-chan [2]string, wanted func(TraceBody) bool) (TraceBody, string) {
	l.t.Helper()
	late := time.After(patience)
	for {
		select {
		case e, ok := <-events:
			require.True(l.t, ok, "the trace has ended")
			var b TraceBody
			require.Equal(l.t, "trace", e[0])
			require.NoError(l.t, json.Unmarshal([]byte(e[1]), &b))
			if wanted(b) {
				return b, e[1]
			}
		case <-late:
			require.Fail(l.t, "no such event")
		}
	}
}

// of is the trace of a user, or nil.
func (a *traces) of(user presence.PublicID) *trace {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byUser[user]
}

func types(notes []TraceNote) (all []string) {
	for i := len(notes) - 1; i >= 0; i-- {
		way := "out"
		if notes[i].In {
			way = "in"
		}
		all = append(all, strings.TrimSpace(way+" "+notes[i].Type+" "+notes[i].Note))
	}
	return all
}

func TestTR1_ATraceShowsMessagesWithoutWhatIsInThem(t *testing.T) {
	l := newLooking(t)
	l.users.set(func() { l.users.look = UserLook{Session: 7, State: presence.Live, Heard: 99, Radius: 8047, Offline: 3} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status, events := l.trace(ctx, "alice")
	require.Equal(t, 200, status)
	l.until(events, func(b TraceBody) bool {
		return b.State == "live" && b.Session == 7 && len(b.Connections) == 0 && b.Friends.Offline == 3
	})

	c := l.connected("alice")
	conn := l.connID()
	c.send(`{"type":"fix","lat":59.12345,"lng":18.54321,"seq":1}`)
	c.readType("ack")
	c.send(`{"type":"fix","lat":95,"lng":18.54321,"seq":2}`)
	c.readType("error")
	c.send(`{"type":"fixes","fixes":[{"lat":59.12345,"lng":18.54321,"seq":3},{"lat":59.12345,"lng":18.54321,"seq":4}]}`)
	c.readType("ack")
	c.send(`{"type":"nonsense"}`)
	c.readType("error")
	l.hub.Push(conn, &presence.Change{Near: []presence.Near{near("bob", 5, true)}, Gone: []presence.Gone{{User: "cy"}}})
	c.readType("friends")
	l.users.set(func() {
		l.users.look.Devices = []DeviceLook{{Device: "phone", Conn: conn, Last: 5}, {Device: "watch"}}
		l.users.look.Online = 1
		l.users.look.Friends = []FriendLook{{User: "bob", Standing: "near", Share: presence.Exact, Heard: 88}}
	})
	b, raw := l.until(events, func(b TraceBody) bool { return len(b.Connections) == 1 && len(b.Messages) >= 9 })
	require.Equal(t, []string{
		"out connected", "in fix", "out ack", "in fix", "out error bad_coordinate", "in fixes 2 fixes", "out ack",
		"in bad unknown_type", "out error unknown_type", "out friends 1 near, 1 gone",
	}, types(b.Messages))
	require.Equal(t, []StandingBody{{User: "bob", Standing: "near", Share: "exact", Heard: 88}}, b.Friends.List)
	require.Equal(t, []DeviceBody{{Device: "phone", Conn: conn, Last: 5}, {Device: "watch"}}, b.Devices)
	is := b.Connections[0]
	require.Equal(t, presence.DeviceID("phone"), is.Device)
	require.EqualValues(t, 5, is.FramesIn, "connect, and what followed")
	require.EqualValues(t, 6, is.FramesOut)
	require.Positive(t, is.BytesOut)
	require.InDelta(t, time.Now().UnixMilli(), int64(is.Since), 3000)
	require.InDelta(t, time.Now().UnixMilli(), int64(is.Heard), 30_000)
	for _, secret := range []string{"59.1", "18.5", "lat", "lng", "59.3"} {
		require.NotContains(t, raw, secret)
	}
}

func TestTR2_NothingIsNotedOnceNobodyLooks(t *testing.T) {
	l := newLooking(t)
	l.users.set(func() { l.users.look = UserLook{Session: 7} })
	c := l.connected("alice")
	conn, _ := l.hub.conns.get(l.connID())
	require.True(t, conn.trace.Load() == nil, "nobody looks")
	l.users.set(func() { l.users.look.Devices = []DeviceLook{{Device: "phone", Conn: conn.id}} })
	ctx, cancel := context.WithCancel(t.Context())
	_, events := l.trace(ctx, "alice")
	_, again := l.trace(ctx, "alice")
	l.until(events, func(b TraceBody) bool { return len(b.Connections) == 1 })
	l.until(again, func(b TraceBody) bool { return len(b.Connections) == 1 })
	require.True(t, conn.trace.Load() != nil, "one that was open before notes too")
	require.EqualValues(t, 2, testutil.ToFloat64(l.hub.metrics.traces))
	c.send(`{"type":"still","seq":1}`)
	l.until(events, func(b TraceBody) bool { return len(b.Messages) == 2 })
	stranger := l.connected("bob")
	stranger.send(`{"type":"still","seq":1}`)
	stranger.readType("ack")
	require.Len(t, l.hub.traces.of("alice").last(), 2, "others are not noted")

	cancel()
	l.eventually("the looks end", func() bool { return l.hub.traces.open.Load() == 0 })
	l.eventually("nothing is noted", func() bool { return conn.trace.Load() == nil })
	require.Nil(t, l.hub.traces.of("alice"))
	require.Zero(t, testutil.ToFloat64(l.hub.metrics.traces))
}

func TestTR2_AConnectionThatEndsIsNotKept(t *testing.T) {
	l := newLooking(t)
	notes := l.hub.traces.begin("alice")
	c := l.connected("alice")
	require.Len(t, notes.conns, 1)
	conn := notes.conns[l.connID()]
	require.NoError(t, c.ws.CloseNow())
	l.eventually("it has left", func() bool {
		notes.mu.Lock()
		defer notes.mu.Unlock()
		return len(notes.conns) == 0
	})
	require.Equal(t, "out closed 1006", types(notes.last())[1])
	notes.join(conn)
	require.Empty(t, notes.conns, "it has ended")
	require.Nil(t, conn.trace.Load())
	notes.end()
	notes.join(conn)
	require.Nil(t, conn.trace.Load())
}

func TestTR2_OnlyTheLastMessagesAreKept(t *testing.T) {
	l := newLooking(t)
	notes := l.hub.traces.begin("alice")
	defer notes.end()
	l.connected("alice")
	conn, _ := l.hub.conns.get(l.connID())
	for n := range 3 * traceNotes {
		notes.note(conn, true, "fix", strings.Repeat("x", n%7))
	}
	last := notes.last()
	require.Len(t, last, traceNotes)
	require.Len(t, last[0].Note, (3*traceNotes-1)%7, "the newest first")
	require.Len(t, last[traceNotes-1].Note, 2*traceNotes%7)
}

func TestTR3_TracesAreFew(t *testing.T) {
	l := newLooking(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range maxTraces {
		status, _ := l.trace(ctx, "alice")
		require.Equal(t, 200, status)
	}
	status, _ := l.trace(ctx, "bob")
	require.Equal(t, http.StatusTooManyRequests, status)
	cancel()
	l.eventually("all end", func() bool { return l.hub.traces.open.Load() == 0 })
	status, _ = l.trace(t.Context(), "bob")
	require.Equal(t, 200, status)
}

func TestTraceOnce(t *testing.T) {
	l := newLooking(t)
	h := l.admin.Config.Handler
	l.users.set(func() { l.users.look = UserLook{} })
	var b TraceBody
	require.NoError(t, json.Unmarshal(ask(h, "GET", "/v1/users/alice/trace").Body.Bytes(), &b))
	require.Equal(t, "offline", b.State)
	require.Zero(t, l.hub.traces.open.Load())
	problem(t, ask(h, "GET", "/v1/users/no%20body/trace"), 400, "bad_field")
	l.users.set(func() { l.users.err = ErrNotFound })
	problem(t, ask(h, "GET", "/v1/users/nobody/trace"), 404, "not_found")
	problem(t, ask(h, "GET", "/v1/users/nobody/trace", "Accept", "text/event-stream"), 404, "not_found")
	require.Zero(t, l.hub.traces.open.Load())
}

func TestTraceSaysWhyItEnds(t *testing.T) {
	l := newLooking(t)
	_, events := l.trace(t.Context(), "alice")
	_, other := l.trace(t.Context(), "bob")
	require.Equal(t, "trace", (<-events)[0])
	require.Equal(t, "trace", (<-other)[0])
	l.users.set(func() { l.users.err = ErrUnavailable })
	e := <-events
	require.Equal(t, "end", e[0])
	require.Contains(t, e[1], `"unavailable"`)
	_, open := <-events
	require.False(t, open)
	<-other
	l.users.set(func() { l.users.err = nil })
	_, events = l.trace(t.Context(), "alice")
	<-events
	l.hub.Stop()
	e = <-events
	require.Equal(t, "end", e[0])
	require.Contains(t, e[1], "stopping")
}
