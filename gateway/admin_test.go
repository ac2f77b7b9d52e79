package gateway

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// fakeCluster is a cluster that says what it is given and notes drains.
type fakeCluster struct {
	mu     sync.Mutex
	info   ClusterInfo
	err    error
	drains []bool
}

func (c *fakeCluster) Cluster(context.Context) (ClusterInfo, error) { return c.info, c.err }

func (c *fakeCluster) Drain(force bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drains = append(c.drains, force)
}

func adminBench(cfg AdminConfig) (*fakeCluster, http.Handler) {
	cluster, reg := &fakeCluster{}, newRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "kith_test_total"})
	reg.MustRegister(c)
	c.Inc()
	return cluster, NewAdminHandler(cfg, cluster, reg, discard(), reg)
}

func ask(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:9090"+target, nil)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAdminShowsTheCluster(t *testing.T) {
	cluster, h := adminBench(AdminConfig{})
	require.JSONEq(t, `{"members":[],"instances":[],"lease":null,"rooms":0,"links":[]}`, ask(h, "GET", "/v1/cluster").Body.String())
	n1, n2 := presence.Instance{Name: "n1", Epoch: 17}, presence.Instance{Name: "n2", Epoch: 3}
	cluster.info = ClusterInfo{
		Members:   []Member{{Instance: n1, Address: "10.0.0.1:8080", State: "live", Self: true, Users: 12}},
		Instances: []InstanceInfo{{Instance: n2, State: "reaping", Beat: 1_800_000_000_000}},
		Lease:     &LeaseInfo{Holder: n1, Until: 1_800_000_090_000},
		Rooms:     4,
		Links:     []LinkInfo{{Peer: n2, Up: true, InFlight: 2}},
	}
	w := ask(h, "GET", "/v1/cluster")
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.JSONEq(t, `{
		"members":[{"node":"n1","instance":"n1#17","address":"10.0.0.1:8080","state":"live","self":true,"users":12}],
		"instances":[{"node":"n2","instance":"n2#3","state":"reaping","beat":1800000000000}],
		"lease":{"holder":"n1#17","until":1800000090000},"rooms":4,
		"links":[{"peer":"n2#3","up":true,"in_flight":2}]}`, w.Body.String())
	cluster.err = ErrUnavailable
	problem(t, ask(h, "GET", "/v1/cluster"), 503, "unavailable")
}

func TestAdminDrain(t *testing.T) {
	cluster, h := adminBench(AdminConfig{})
	problem(t, ask(h, "GET", "/v1/drain"), 405, "not_found")
	w := ask(h, "POST", "/v1/drain")
	require.Equal(t, http.StatusAccepted, w.Code)
	require.JSONEq(t, `{"state":"draining"}`, w.Body.String())
	require.True(t, w.Flushed, "the answer is out before the process may end")
	w = ask(h, "POST", "/v1/drain")
	require.Equal(t, http.StatusAccepted, w.Code)
	require.JSONEq(t, `{"state":"stopping"}`, w.Body.String())
	require.Equal(t, []bool{false, true}, cluster.drains)
}

func TestHT7_AdminKeepsOtherSitesOut(t *testing.T) {
	cluster, h := adminBench(AdminConfig{})
	for _, host := range []string{"evil.example.org", "evil.example.org:9090", "10.0.0.1:9090", "127.0.0.1.evil.example", "localhost.evil.example", "", "0.0.0.0", "admin.example.org"} {
		for _, path := range []string{"/", "/metrics", "/v1/cluster", "/debug/pprof/"} {
			problem(t, ask(h, "GET", path, "Host", host), http.StatusForbidden, "forbidden")
		}
		problem(t, ask(h, "POST", "/v1/drain", "Host", host), http.StatusForbidden, "forbidden")
	}
	for _, headers := range [][]string{
		{"Origin", "https://evil.example.org"},
		{"Origin", "null"},
		{"Origin", "http://127.0.0.1:8080"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
	} {
		problem(t, ask(h, "POST", "/v1/drain", headers...), http.StatusForbidden, "forbidden")
	}
	problem(t, ask(h, "GET", "/debug/pprof/profile", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"), http.StatusForbidden, "forbidden")
	require.Empty(t, cluster.drains)

	require.Equal(t, 200, ask(h, "GET", "/v1/cluster", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate").Code, "a link that somebody follows")
	for _, host := range []string{"localhost", "LOCALHOST:9090", "127.0.0.1:9090", "127.0.0.9", "[::1]:9090", "[::1]"} {
		require.Equal(t, 200, ask(h, "GET", "/v1/cluster", "Host", host).Code, host)
	}
	require.Equal(t, 202, ask(h, "POST", "/v1/drain", "Origin", "http://127.0.0.1:9090", "Sec-Fetch-Site", "same-origin").Code)

	_, h = adminBench(AdminConfig{Hosts: []string{"admin.example.org"}})
	require.Equal(t, 200, ask(h, "GET", "/v1/cluster", "Host", "Admin.example.org:9090").Code)
	problem(t, ask(h, "GET", "/v1/cluster", "Host", "evil.example.org"), http.StatusForbidden, "forbidden")
	_, h = adminBench(AdminConfig{Hosts: []string{"*"}})
	require.Equal(t, 200, ask(h, "GET", "/v1/cluster", "Host", "any.example.org").Code)
}

func TestAdminMetricsAndProfiles(t *testing.T) {
	_, h := adminBench(AdminConfig{})
	w := ask(h, "GET", "/metrics")
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), "kith_test_total 1")
	require.Contains(t, ask(h, "GET", "/metrics").Body.String(), `kith_http_requests_total{port="admin",route="GET /metrics",status="200"} 1`)
	require.Contains(t, ask(h, "GET", "/debug/pprof/").Body.String(), "heap")
	require.Equal(t, 200, ask(h, "GET", "/debug/pprof/goroutine?debug=1").Code)
	require.Equal(t, 404, ask(h, "GET", "/debug/pprof/cmdline").Code, "the command line may hold secrets")
	for _, path := range []string{"/nope", "/healthz", "/v1/nearby", "/index.html"} {
		problem(t, ask(h, "GET", path), 404, "not_found")
	}
}

func TestBothPortsShareARegistry(t *testing.T) {
	b := newBench(t, nil)
	require.NotPanics(t, func() { NewAdminHandler(AdminConfig{}, &fakeCluster{}, b.reg, discard(), b.reg) })
}

func TestAdminPage(t *testing.T) {
	_, h := adminBench(AdminConfig{Page: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "operator's page "+r.URL.Path)
	})})
	for _, path := range []string{"/", "/operator/app.js"} {
		require.Equal(t, "operator's page "+path, ask(h, "GET", path).Body.String())
	}
	problem(t, ask(h, "GET", "/v1/nope"), 404, "not_found")
	problem(t, ask(h, "GET", "/", "Host", "evil.example.org"), http.StatusForbidden, "forbidden")
	_, h = adminBench(AdminConfig{})
	for _, path := range []string{"/", "/v1/stats", "/v1/users/alice/trace"} {
		problem(t, ask(h, "GET", path), 404, "not_found")
	}
}

func TestAdminLogsDrains(t *testing.T) {
	var log bytes.Buffer
	h := NewAdminHandler(AdminConfig{}, &fakeCluster{}, newRegistry(), slog.New(slog.NewTextHandler(&log, nil)), newRegistry())
	ask(h, "POST", "/v1/drain")
	require.Contains(t, log.String(), "drain asked for")
}
