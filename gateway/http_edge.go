package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-nearby/kith/internal/stack"
	"github.com/kith-nearby/kith/wire"
)

const socketPath = "/v1/ws"

// edge is what stands around every call of the HTTP API: routing, limits,
// headers, metrics, the log, and the last catch for panics. WebSockets pass
// through it untouched.
type edge struct {
	mux   *http.ServeMux
	pages http.Handler // for paths that the mux does not have; nil = 404
	hint  string       // where to read what there is
	slots chan struct{}
	// within bounds a call, whatever it waits for; 0 = not at all.
	within time.Duration
	now    func() time.Time
	log    *slog.Logger
	seen   *httpMetrics
}

// handler puts everything around e's mux, with guard as the innermost.
func (e *edge) handler(guard func(http.Handler) http.Handler) http.Handler {
	calls := e.observe(e.recover(guard(http.HandlerFunc(e.route))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == socketPath && r.Method == http.MethodGet {
			e.mux.ServeHTTP(w, r) // the upgrade needs the server's own ResponseWriter
			return
		}
		calls.ServeHTTP(w, r)
	})
}

// route finds the call, or answers 404 and 405 as problems.
func (e *edge) route(w http.ResponseWriter, r *http.Request) {
	h, pattern := e.mux.Handler(r)
	switch {
	case !cleanPath(r):
		e.noPath().write(w)
	case pattern == "":
		e.noCall(h, w, r)
	case probe(r):
		e.mux.ServeHTTP(w, r)
	default:
		select {
		case e.slots <- struct{}{}:
			defer func() { <-e.slots }()
			e.call(w, r)
		default:
			e.seen.full.Inc()
			unavailable("the node serves as many requests as it can; try again").write(w)
		}
	}
}

func (e *edge) call(w http.ResponseWriter, r *http.Request) {
	if e.within == 0 {
		e.mux.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), e.within)
	defer cancel()
	bounded := r.WithContext(ctx)
	defer func() { r.Pattern = bounded.Pattern }() // observe reads it, also after a panic
	e.mux.ServeHTTP(w, bounded)
}

// probe reports whether r asks for the node's health, which must be answered
// also when the node is full.
func probe(r *http.Request) bool { return r.URL.Path == healthPath || r.URL.Path == readyPath }

// cleanPath reports whether a request's path has no empty, "." or ".." parts.
// The mux would redirect such a request; an API answers 404 instead.
func cleanPath(r *http.Request) bool {
	p := r.URL.EscapedPath()
	clean := path.Clean(p)
	return p == clean || p == clean+"/"
}

// noCall answers what the mux has no call for. Its own handler knows which
// methods the path has, and says so in Allow.
func (e *edge) noCall(muxAnswer http.Handler, w http.ResponseWriter, r *http.Request) {
	said := &muted{header: http.Header{}}
	muxAnswer.ServeHTTP(said, r)
	if said.status == http.StatusMethodNotAllowed {
		allow := said.header.Get("Allow")
		newProblem(http.StatusMethodNotAllowed, wire.NotFound, "this path has no %s; it has %s", r.Method, allow).with("Allow", allow).write(w)
		return
	}
	if e.pages != nil && !strings.HasPrefix(r.URL.Path, "/v1/") {
		e.pages.ServeHTTP(w, r)
		return
	}
	e.noPath().write(w)
}

func (e *edge) noPath() *Problem {
	return newProblem(http.StatusNotFound, wire.NotFound, "there is nothing at this path; %s says what there is", e.hint)
}

// muted keeps the status and header of an answer and drops its body.
type muted struct {
	header http.Header
	status int
}

func (m *muted) Header() http.Header         { return m.header }
func (m *muted) WriteHeader(status int)      { m.status = status }
func (m *muted) Write(b []byte) (int, error) { return len(b), nil }

// recover answers a panic with 500. The log gets where it happened and the type
// of what was thrown, never the value, which may hold a position.
func (e *edge) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			e.seen.panics.Inc()
			e.log.Error("a call panicked", "route", r.Pattern, "type", fmt.Sprintf("%T", v), "stack", stack.OfPanic())
			if t, ok := w.(*tally); ok && t.status == 0 {
				internal().write(w)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// observe sets the headers that every answer has, counts, and logs. A path may
// hold a user id and a query anything, so both stay out: the route stands for
// them.
func (e *edge) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		began := e.now()
		t := &tally{ResponseWriter: w}
		next.ServeHTTP(t, r)
		took := e.now().Sub(began)
		route := routeLabel(r)
		e.seen.done(route, t.code(), took)
		e.log.Debug("call", "route", route, "status", t.code(), "took", took, "bytes", t.bytes)
	})
}

// secure sets the headers of an API that is no web page. Pages replace them.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// routeLabel is the mux's pattern, or one word for all requests without one,
// so that no client can add label values.
func routeLabel(r *http.Request) string {
	if r.Pattern == "" {
		return "none"
	}
	return r.Pattern
}

// tally notes what is answered.
type tally struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap lets http.ResponseController through, which sets deadlines.
func (t *tally) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tally) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tally) Write(b []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	n, err := t.ResponseWriter.Write(b)
	t.bytes += int64(n)
	return n, err
}

func (t *tally) code() int {
	if t.status == 0 {
		return http.StatusOK
	}
	return t.status
}

type httpMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	full     prometheus.Counter
	panics   prometheus.Counter
}

// newHTTPMetrics registers the metrics of one port, "public" or "admin". busy
// says how many requests are being served.
func newHTTPMetrics(reg prometheus.Registerer, port string, busy func() float64) *httpMetrics {
	reg = prometheus.WrapRegistererWith(prometheus.Labels{"port": port}, reg)
	m := &httpMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kith_http_requests_total", Help: "HTTP requests answered, without WebSockets.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kith_http_request_seconds", Help: "Time from a request's header to the end of its answer.",
			Buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route"}),
		full: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kith_http_refused_full_total", Help: "HTTP requests refused because too many were being served.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kith_http_panics_total", Help: "HTTP calls that panicked.",
		}),
	}
	reg.MustRegister(m.requests, m.seconds, m.full, m.panics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kith_http_busy", Help: "HTTP requests being served, without WebSockets.",
	}, busy))
	return m
}

func (m *httpMetrics) done(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
