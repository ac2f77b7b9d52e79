package e2e

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// gauges reads the node's own figures, as Prometheus would.
type gauges map[string]float64

func (s *server) gauges() gauges {
	s.t.Helper()
	a := request(s.t, http.MethodGet, s.admin+"/metrics", nil, nil)
	require.Equal(s.t, http.StatusOK, a.status)
	g := gauges{}
	for line := range strings.Lines(string(a.body)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(name, "#") {
			g[name] = v
		}
	}
	require.NotEmpty(s.t, g)
	return g
}

// closes counts the connections that have ended, by close code.
func (s *server) closes() map[string]int {
	s.t.Helper()
	found := map[string]int{}
	for name, v := range s.gauges() {
		if code, ok := strings.CutPrefix(name, `kith_closes_total{code="`); ok {
			found[strings.TrimSuffix(code, `"}`)] = int(v)
		}
	}
	return found
}

// usage is what a process holds.
type usage struct {
	goroutines, files int
	heap              float64 // bytes of live objects after a collection
	resident          float64 // bytes
}

var profiled = regexp.MustCompile(`goroutine profile: total (\d+)`)

// usage measures the process, after a garbage collection.
func (s *server) usage() usage {
	s.t.Helper()
	for range 2 { // pools give their objects back at the second collection
		a := request(s.t, http.MethodGet, s.admin+"/debug/pprof/heap?gc=1", nil, nil)
		require.Equal(s.t, http.StatusOK, a.status)
	}
	m := profiled.FindSubmatch(request(s.t, http.MethodGet, s.admin+"/debug/pprof/goroutine?debug=1", nil, nil).body)
	require.NotNil(s.t, m)
	n, err := strconv.Atoi(string(m[1]))
	require.NoError(s.t, err)
	g := s.gauges()
	return usage{n, int(g["process_open_fds"]), g["go_memstats_heap_alloc_bytes"], g["process_resident_memory_bytes"]}
}

// eventually polls until ok, and fails with what is the matter otherwise.
func eventually(s *server, within time.Duration, what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(within); !ok(); wait(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within %v: %s", within, what)
		}
	}
}
