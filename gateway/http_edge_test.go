package gateway

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newRegistry() *prometheus.Registry { return prometheus.NewRegistry() }

func TestHT3_UnknownPathsAndMethods(t *testing.T) {
	b := newBench(t, nil)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/nope", "/v1/nearby/", "/v1/users", "/v1/users/", "/v1//nearby", "/v1/./nearby", "/v1/x/../nearby", "/healthz/x", "/owntracks/x", "/debug/pprof/", "/metrics", "/v1/cluster"} {
		w := b.call("ann", "GET", path, "")
		p := problem(t, w, http.StatusNotFound, "not_found")
		require.Contains(t, p.Detail, "/docs/openapi.json", path)
		require.Empty(t, w.Header().Get("Location"))
	}
	tests := []struct{ method, path, allow string }{
		{"POST", "/v1/nearby", "GET, HEAD"},
		{"GET", "/v1/fixes", "POST"},
		{"DELETE", "/healthz", "GET, HEAD"},
		{"OPTIONS", "/v1/nearby", "GET, HEAD"},
		{"PATCH", "/v1/users/ann", "DELETE, GET, HEAD, PUT"},
		{"TRACE", "/v1/me", "DELETE"},
		{"POST", "/v1/ws", "GET, HEAD"},
	}
	for _, tt := range tests {
		w := b.call("ann", tt.method, tt.path, "")
		problem(t, w, http.StatusMethodNotAllowed, "not_found")
		require.Equal(t, tt.allow, w.Header().Get("Allow"))
	}
}

func TestHEAD(t *testing.T) {
	b := newBench(t, nil)
	server := httptest.NewServer(b.handler)
	defer server.Close()
	resp, err := http.Head(server.URL + "/healthz")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, text)
}

func TestSocketsGetTheServersOwnWriter(t *testing.T) {
	b := newBench(t, nil)
	var got http.ResponseWriter
	b.handler = NewPublicHandler(HTTPConfig{}, HTTPPorts{Readiness: b}, b.auth,
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = w }), discard(), newRegistry())
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, newRequest("GET", "/v1/ws", ""))
	require.Same(t, w, got)
	require.Empty(t, w.Header())
}

func TestHT7_CORS(t *testing.T) {
	b := newBench(t, nil)
	const good, bad = "https://app.example.org", "https://evil.example.org"

	w := b.call("", "OPTIONS", "/v1/fixes", "", "Origin", good, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Equal(t, good, w.Header().Get("Access-Control-Allow-Origin"))
	require.Contains(t, w.Header().Get("Access-Control-Allow-Methods"), "DELETE")
	require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "Authorization")
	require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))

	w = b.call("ann", "GET", "/v1/nearby", "", "Origin", good)
	require.Equal(t, 200, w.Code)
	require.Equal(t, good, w.Header().Get("Access-Control-Allow-Origin"))
	require.Contains(t, w.Header().Get("Access-Control-Expose-Headers"), "Link")
	require.Equal(t, "Origin", w.Header().Get("Vary"))
	w = b.call("", "GET", "/v1/nearby", "", "Origin", good)
	problem(t, w, 401, "unauthorized")
	require.Equal(t, good, w.Header().Get("Access-Control-Allow-Origin"), "a page may read why it failed")

	for _, origin := range []string{bad, "null", "https://app.example.org.evil.example", "http://app.example.org", "https://app.example.org:8443", "file://", "http://localhost:3000"} {
		w = b.call("", "OPTIONS", "/v1/fixes", "", "Origin", origin, "Access-Control-Request-Method", "POST")
		require.Equal(t, http.StatusForbidden, w.Code)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		problem(t, b.call("ann", "POST", "/v1/fixes", fixes(1), "Origin", origin), http.StatusForbidden, "forbidden")
		w = b.call("ann", "GET", "/v1/nearby", "", "Origin", origin)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), "a browser hides the answer from the page")
	}
	require.Zero(t, b.reports)
	require.Equal(t, 200, b.call("ann", "POST", "/v1/fixes", fixes(1), "Origin", "http://example.com").Code, "the page that the node itself serves")
}

func TestHT7_OriginsOfDev(t *testing.T) {
	dev := NewOrigins(nil, true)
	for origin, want := range map[string]bool{
		"http://localhost:5173": true, "http://127.0.0.1": true, "http://[::1]:8080": true, "http://127.0.0.53:1": true,
		"http://localhost.evil.example": false, "http://127.0.0.1.evil.example": false, "http://10.0.0.1": false, "null": false, "http://0.0.0.0": false,
	} {
		r := newRequest("GET", "/", "")
		r.Header.Set("Origin", origin)
		require.Equal(t, want, dev.Allows(r), origin)
		require.False(t, Origins{}.Allows(r), origin)
	}
	slash := NewOrigins([]string{"HTTPS://App.Example.org/"}, false)
	r := newRequest("GET", "/", "")
	r.Header.Set("Origin", "https://app.example.org")
	require.True(t, slash.Allows(r))
}

func TestHT3_PanicsAre500AndKeepTheirValue(t *testing.T) {
	b := newBench(t, nil)
	b.explode = "position 51.5074, -0.1278"
	w := b.call("ann", "GET", "/v1/nearby", "")
	problem(t, w, http.StatusInternalServerError, "internal")
	require.NotContains(t, w.Body.String()+b.log.String(), "51.5074")
	require.Contains(t, b.log.String(), "a call panicked")
	require.NotContains(t, b.log.String(), "0x", "words of arguments")
	b.explode = nil
	require.Equal(t, 200, b.call("ann", "GET", "/v1/nearby", "").Code)
	require.Equal(t, 1.0, metric(t, b, "kith_http_panics_total"))

	b.explode = http.ErrAbortHandler
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.call("ann", "GET", "/v1/nearby", "") })
}

func metric(t *testing.T, b *bench, name string) float64 {
	t.Helper()
	families, err := b.reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestHT6_AFullNodeStillAnswersProbes(t *testing.T) {
	b := newBench(t, func(c *HTTPConfig) { c.InFlight = 2 })
	b.blocked, b.entered = make(chan struct{}), make(chan struct{}, 2)
	done := make(chan int, 2)
	for range 2 {
		go func() { done <- b.call("ann", "GET", "/v1/nearby", "").Code }()
	}
	<-b.entered
	<-b.entered
	w := b.call("ann", "GET", "/v1/history", "")
	problem(t, w, http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Equal(t, 200, b.call("", "GET", "/healthz", "").Code)
	require.Equal(t, 200, b.call("", "GET", "/readyz", "").Code)
	close(b.blocked)
	require.Equal(t, 200, <-done)
	require.Equal(t, 200, <-done)
	require.Equal(t, 200, b.call("ann", "GET", "/v1/history", "").Code)
	require.Equal(t, metric(t, b, "kith_http_refused_full_total"), 1.0)
}

func TestHT6_ACallThatHangsIsEnded(t *testing.T) {
	b := newBench(t, func(c *HTTPConfig) { c.Within = 20 * time.Millisecond })
	b.hang = true
	w := b.call("ann", "GET", "/v1/nearby", "")
	problem(t, w, http.StatusServiceUnavailable, "unavailable")
	require.Contains(t, b.log.String(), `route="GET /v1/nearby" status=503`)
}

func TestHT5_LogAndMetricsHoldNothingOfTheRequest(t *testing.T) {
	b := newBench(t, nil)
	token := b.token("ann")
	b.call("ann", "POST", "/v1/fixes", `{"fixes":[{"lat":51.5074,"lng":-0.1278,"seq":1},{"lat":-91.25,"lng":0,"seq":2}]}`)
	b.call("ann", "GET", "/v1/history?from=2026-01-01T00:00:00Z&cursor=secret-cursor", "")
	b.call("operator", "GET", "/v1/users/bob/history?limit=77", "")
	b.call("ann", "GET", "/v1/no/such/path-of-ann", "")
	b.call("ann", "TRACE", "/v1/nearby", "")
	b.callAs("tracker", "POST", "/owntracks", `{"_type":"location","lat":51.5074,"lon":-0.1278,"tst":1799999990}`)
	families, err := b.reg.Gather()
	require.NoError(t, err)
	all := b.log.String()
	for _, f := range families {
		all += f.String()
	}
	for _, secret := range []string{"51.5", "91.25", "0.1278", token, testKey, "secret-cursor", "bob", "ann", "2026-01-01"} {
		require.NotContains(t, all, secret)
	}
	require.Contains(t, b.log.String(), `route="GET /v1/users/{user}/history" status=200`)
	count, err := testutil.GatherAndCount(b.reg, "kith_http_requests_total")
	require.NoError(t, err)
	require.Equal(t, 6, count)
	require.Contains(t, all, `value:"none"`, "all unknown paths share one label")
}

func TestHeadersCannotBeInjected(t *testing.T) {
	b := newBench(t, nil)
	b.history[b.id("ann")] = manyRows(3)
	for _, target := range []string{
		"/v1/history?limit=1&from=2026-01-01T00:00:00Z%0d%0aX-Evil:1",
		"/v1/history?limit=1&cursor=a%0d%0aX-Evil:1",
		"/v1/history?limit=1&format=csv%0d%0aX-Evil:1",
		"/v1/history?limit=1&unknown=%0d%0aX-Evil:1",
	} {
		w := b.call("ann", "GET", target, "")
		require.Empty(t, w.Header().Get("X-Evil"))
		for name, values := range w.Header() {
			for _, v := range values {
				require.False(t, strings.ContainsAny(name+v, "\r\n"), target)
			}
		}
	}
}

func manyRows(n int) []HistoryRow {
	rows := make([]HistoryRow, n)
	for i := range rows {
		u := presence.Unset()
		rows[i] = HistoryRow{Device: "phone", Fix: presence.Fix{
			At: geo.Point{Lat: 515_000_000 + int32(i), Lng: -1_200_000 - int32(i)}, Seq: uint64(i + 1), TS: presence.Millis(sentAt + i), Sent: presence.Millis(sentAt + i),
			Accuracy: u, Altitude: u, Speed: u, Heading: u, Battery: u,
		}}
	}
	return rows
}

func TestPagesAnswerWhatTheAPIDoesNot(t *testing.T) {
	b := newBench(t, func(c *HTTPConfig) {
		c.Pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	})
	require.Equal(t, "page", b.call("", "GET", "/", "").Body.String())
	require.Equal(t, "page", b.call("", "GET", "/app.js", "").Body.String())
	problem(t, b.call("", "GET", "/v1/nope", ""), 404, "not_found")
	problem(t, b.call("", "POST", "/v1/nearby", ""), 405, "not_found")
	require.Equal(t, 200, b.call("", "GET", "/healthz", "").Code)
}

func TestServerHasDeadlines(t *testing.T) {
	s := NewServer(http.NotFoundHandler(), discard())
	require.Equal(t, 5*time.Second, s.ReadHeaderTimeout)
	require.Equal(t, 16<<10, s.MaxHeaderBytes)
	require.NotZero(t, s.ReadTimeout)
	require.NotZero(t, s.WriteTimeout)
	require.NotZero(t, s.IdleTimeout)
}
