package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

const sentAt = 1_799_999_990_000 // ten seconds before testNow

func fixes(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"lat":51.5,"lng":-0.12,"seq":%d,"ts":%d}`, i+1, sentAt+i)
	}
	return `{"device":"phone","fixes":[` + strings.Join(list, ",") + `]}`
}

func TestHT1_ReportedFixesAreDurableWhenAnswered(t *testing.T) {
	b := newBench(t, nil)
	got := body[ReportedBody](t, b.call("ann", "POST", "/v1/fixes",
		`{"fixes":[{"lat":51.5,"lng":-0.12,"seq":3},{"lat":51.6,"lng":-0.13,"seq":2,"ts":1799999990000,"acc":12,"heading":null,"mock":true}]}`), 200)
	require.Equal(t, ReportedBody{Accepted: 2, Refused: []RefusedBody{}}, got)
	rows := b.history[b.id("ann")]
	require.Len(t, rows, 2)
	require.Equal(t, presence.DefaultDevice, rows[0].Device)
	require.EqualValues(t, 2, rows[0].Fix.Seq)
	require.Equal(t, point(t, 51.6, -0.13), rows[0].Fix.At)
	require.EqualValues(t, 12, rows[0].Fix.Accuracy)
	require.True(t, rows[0].Fix.Mock)
	require.EqualValues(t, testNow.UnixMilli(), rows[1].Fix.TS, "without ts the server's time counts")
	require.Zero(t, rows[1].Fix.Sent)
}

func TestHT1_ReportsAreIdempotent(t *testing.T) {
	b := newBench(t, nil)
	for range 3 {
		got := body[ReportedBody](t, b.call("ann", "POST", "/v1/fixes", fixes(50)), 200)
		require.Equal(t, 50, got.Accepted)
	}
	require.Len(t, b.history[b.id("ann")], 50)
}

func TestBatchesArriveInOrderOfSeq(t *testing.T) {
	b := newBench(t, nil)
	caught := &catcher{fakeNode: b.fakeNode}
	b.handler = NewPublicHandler(HTTPConfig{Now: func() time.Time { return testNow }},
		HTTPPorts{Live: caught, Accounts: b, Hub: b.hub, Readiness: b}, b.auth, http.NotFoundHandler(), discard(), newRegistry())
	body[ReportedBody](t, b.call("ann", "POST", "/v1/fixes", `{"device":"watch","fixes":[
		{"lat":1,"lng":1,"seq":9,"ts":1799999990000},{"lat":1,"lng":1,"seq":4,"ts":1799999990001},{"lat":1,"lng":1,"seq":7,"ts":1799999990002}]}`), 200)
	require.Equal(t, b.id("ann"), caught.batch.User)
	require.EqualValues(t, "watch", caught.batch.Device)
	require.EqualValues(t, testNow.UnixMicro(), caught.batch.Received)
	require.EqualValues(t, 9, caught.batch.LastSeq())
	require.EqualValues(t, 4, caught.batch.Fixes[0].Seq)
	require.EqualValues(t, 7, caught.batch.Fixes[1].Seq)
}

type catcher struct {
	*fakeNode
	batch *presence.Batch
}

func (c *catcher) Report(b *presence.Batch) {
	c.batch = b
	c.fakeNode.Report(b)
}

func TestHT2_RefusedFixesAreNowhere(t *testing.T) {
	b := newBench(t, nil)
	got := body[ReportedBody](t, b.call("ann", "POST", "/v1/fixes", `{"fixes":[
		{"lat":91,"lng":0,"seq":1},
		{"lat":1,"lng":2,"seq":2,"ts":1799999990000},
		{"lat":0,"lng":1e999,"seq":3},
		{"lat":"51","lng":0,"seq":4},
		{"lng":0,"seq":5},
		{"lat":0,"lng":0},
		{"lat":0,"lng":0,"seq":7,"ts":1799999990},
		{"lat":0,"lng":0,"seq":8,"ts":1900000000000},
		{"lat":0,"lng":0,"seq":-1},
		7,
		null
	]}`), 200)
	require.Equal(t, 1, got.Accepted)
	var codes []string
	for _, r := range got.Refused {
		codes = append(codes, fmt.Sprintf("%d %s %s", r.Index, r.Code, r.Field))
		require.NotEmpty(t, r.Message)
	}
	require.Equal(t, []string{
		"0 bad_coordinate lat", "2 bad_coordinate lng", "3 bad_field lat", "4 bad_field lat", "5 bad_field seq", "6 bad_time ts", "7 bad_time ts",
		"8 bad_field seq", "9 bad_field fixes", "10 bad_field fixes",
	}, codes)
	require.Len(t, b.history[b.id("ann")], 1)

	got = body[ReportedBody](t, b.call("ann", "POST", "/v1/fixes", `{"fixes":[{"lat":91,"lng":0,"seq":1}]}`), 200)
	require.Zero(t, got.Accepted)
	require.Equal(t, 1, b.reports, "nothing was left to report")
}

func TestHT6_ReportBodies(t *testing.T) {
	b := newBench(t, nil)
	require.Equal(t, wire.MaxFixes, body[ReportedBody](t, b.call("ann", "POST", "/v1/fixes", fixes(wire.MaxFixes)), 200).Accepted)
	b.reports = 0
	pad := func(n int) string { return `{"fixes":[],"pad":"` + strings.Repeat("x", n-21) + `"}` }
	tests := []struct {
		name, body string
		status     int
		code       string
		field      string
	}{
		{"no fixes", `{}`, 400, "bad_field", "fixes"},
		{"none", `{"fixes":[]}`, 400, "bad_field", "fixes"},
		{"null", `{"fixes":null}`, 400, "bad_field", "fixes"},
		{"an object", `{"fixes":{}}`, 400, "bad_field", "fixes"},
		{"too many", fixes(wire.MaxFixes + 1), 413, "too_large", "fixes"},
		{"bad device", `{"device":"a\nb","fixes":[{}]}`, 400, "bad_field", "device"},
		{"device of 65", `{"device":"` + strings.Repeat("d", 65) + `","fixes":[{}]}`, 400, "bad_field", "device"},
		{"an array", `[]`, 400, "bad_json", ""},
		{"nothing", ``, 400, "bad_json", ""},
		{"NaN", `{"fixes":[{"lat":NaN,"lng":0,"seq":1}]}`, 400, "bad_json", ""},
		{"-Infinity", `{"fixes":[{"lat":-Infinity,"lng":0,"seq":1}]}`, 400, "bad_json", ""},
		{"same name twice", `{"fixes":[{"lat":1,"lat":2,"lng":0,"seq":1}]}`, 400, "bad_json", ""},
		{"deep", `{"fixes":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + `}`, 400, "bad_json", ""},
		{"cut", `{"fixes":[{"lat":1`, 400, "bad_json", ""},
		{"of the largest size", pad(maxReportBody), 400, "bad_field", "fixes"},
		{"one byte more", pad(maxReportBody + 1), 413, "too_large", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := problem(t, b.call("ann", "POST", "/v1/fixes", tt.body), tt.status, tt.code)
			require.Equal(t, tt.field, p.Field)
		})
	}
	problem(t, b.call("ann", "POST", "/v1/fixes", fixes(1), "Content-Type", "text/csv"), 415, "bad_field")
	require.Zero(t, b.reports)
}

func TestHT1_WithoutTheDatabaseNothingIsAccepted(t *testing.T) {
	b := newBench(t, nil)
	slow := &forgetful{fakeNode: b.fakeNode}
	b.handler = NewPublicHandler(HTTPConfig{Durable: time.Millisecond, Now: func() time.Time { return testNow }},
		HTTPPorts{Live: slow, Accounts: b, Hub: b.hub, Readiness: b}, b.auth, http.NotFoundHandler(), discard(), newRegistry())
	w := b.call("ann", "POST", "/v1/fixes", fixes(1))
	p := problem(t, w, http.StatusServiceUnavailable, "unavailable")
	require.Contains(t, p.Detail, "send the same again")
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	slow.lose = true
	problem(t, b.call("ann", "POST", "/v1/fixes", fixes(1)), http.StatusServiceUnavailable, "unavailable")
}

// forgetful takes fixes and never says that they are durable.
type forgetful struct {
	*fakeNode
	lose bool
}

func (f *forgetful) Report(b *presence.Batch) {
	if f.lose {
		f.hub.Lost(b)
	}
}

func TestHT6_FixesHaveALimitOfTheirOwn(t *testing.T) {
	b := newBench(t, func(c *HTTPConfig) { c.Fixes, c.FixesPerS = wire.MaxFixes, 10 })
	require.Equal(t, 200, b.call("ann", "POST", "/v1/fixes", fixes(wire.MaxFixes)).Code)
	w := b.call("ann", "POST", "/v1/fixes", fixes(30))
	problem(t, w, http.StatusTooManyRequests, "too_many")
	require.Equal(t, "3", w.Header().Get("Retry-After"))
	b.now = b.now.Add(3 * time.Second)
	require.Equal(t, 200, b.call("ann", "POST", "/v1/fixes", fixes(30)).Code)
}

// serveBench starts a real server, whose deadlines only a real socket has.
func serveBench(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = NewServer(h, discard())
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestWaitForTheDatabaseOutlivesTheBodyDeadline(t *testing.T) {
	b := newBench(t, nil)
	late := &later{fakeNode: b.fakeNode}
	p := newPublicAPI(HTTPConfig{Durable: 5 * time.Second, Now: func() time.Time { return testNow }},
		HTTPPorts{Live: late, Accounts: b, Hub: b.hub, Readiness: b}, b.auth, discard())
	mux := http.NewServeMux()
	p.register(mux)
	// The body's deadline as huma sets it, made short.
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(shortDeadline{w}, r) })
	addr := serveBench(t, h)
	r, err := http.NewRequest("POST", "http://"+addr+"/v1/fixes", strings.NewReader(fixes(1)))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+b.token("ann"))
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	require.Equal(t, 200, resp.StatusCode, string(text))
}

// shortDeadline makes every deadline for reading 50 ms.
type shortDeadline struct{ http.ResponseWriter }

func (s shortDeadline) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		at = time.Now().Add(50 * time.Millisecond)
	}
	return http.NewResponseController(s.ResponseWriter).SetReadDeadline(at)
}

// later confirms after a while.
type later struct{ *fakeNode }

func (l *later) Report(b *presence.Batch) {
	go func() {
		time.Sleep(200 * time.Millisecond)
		l.fakeNode.Report(b)
	}()
}

func TestHT6_SlowBodyIsCutOff(t *testing.T) {
	b := newBench(t, nil)
	addr := serveBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.handler.ServeHTTP(shortDeadline{w}, r) }))
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	_, err = fmt.Fprintf(conn, "POST /v1/fixes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 500\r\n\r\n{\"fixes\":[", b.token("ann"))
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
	require.Equal(t, problemType, resp.Header.Get("Content-Type"))
}

func TestHT4_UnknownCallerIsRefusedBeforeTheBodyIsRead(t *testing.T) {
	b := newBench(t, nil)
	r := httptest.NewRequest("POST", "/v1/fixes", unreadable{t})
	w := b.serve(r)
	problem(t, w, http.StatusUnauthorized, "unauthorized")
}

type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}
