package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/kith-nearby/kith/wire"
)

// HTTPConfig says how the HTTP API behaves. Zero values mean the default of
// DefaultHTTPConfig.
type HTTPConfig struct {
	Origins Origins // of browser pages that may call

	RequestsPerS float64 // by one user token, on average
	Requests     int     // by one user token, at once
	FixesPerS    float64 // by one user token through POST /v1/fixes, on average
	Fixes        int     // by one user token at once: what a device gathered without a network; at least wire.MaxFixes
	OperatorPerS float64 // requests by one API key, on average
	OperatorMost int     // requests by one API key, at once
	Callers      int     // whose use is remembered at least

	InFlight int           // requests served at once; more are refused with 503
	Durable  time.Duration // how long POST /v1/fixes waits for the database
	Within   time.Duration // how long a call may take in all; longer than Durable

	Now   func() time.Time // nil = time.Now
	Pages http.Handler     // answers what no call of the API does; nil = nothing
}

// DefaultHTTPConfig returns the limits for which the server is built.
func DefaultHTTPConfig() HTTPConfig {
	return HTTPConfig{
		RequestsPerS: 10,
		Requests:     40,
		FixesPerS:    5,
		Fixes:        20_000,
		OperatorPerS: 500,
		OperatorMost: 1000,
		Callers:      50_000,
		InFlight:     1024, // with bodies of 1 MiB at most, 1 GiB
		Durable:      10 * time.Second,
		Within:       20 * time.Second,
		Now:          time.Now,
	}
}

func (c HTTPConfig) withDefaults() HTTPConfig {
	d := DefaultHTTPConfig()
	c.RequestsPerS = orElse(c.RequestsPerS, d.RequestsPerS)
	c.Requests = orElse(c.Requests, d.Requests)
	c.FixesPerS = orElse(c.FixesPerS, d.FixesPerS)
	c.Fixes = max(orElse(c.Fixes, d.Fixes), wire.MaxFixes)
	c.OperatorPerS = orElse(c.OperatorPerS, d.OperatorPerS)
	c.OperatorMost = orElse(c.OperatorMost, d.OperatorMost)
	c.Callers = orElse(c.Callers, d.Callers)
	c.InFlight = orElse(c.InFlight, d.InFlight)
	c.Durable = orElse(c.Durable, d.Durable)
	c.Within = orElse(c.Within, d.Within)
	if c.Now == nil {
		c.Now = d.Now
	}
	return c
}

func orElse[T comparable](v, otherwise T) T {
	if v == *new(T) {
		return otherwise
	}
	return v
}

// HTTPPorts is what the HTTP API needs of the rest.
type HTTPPorts struct {
	Live      Live
	Views     Views
	Accounts  Accounts
	Operator  Operator
	Histories Histories
	Readiness Readiness
	Hub       *Hub // confirms what was reported
}

// publicAPI is the HTTP API of the public port. Its handlers are methods, in
// one file for each group of calls. Invariants (cited by tests as TestHT1_…):
//
//	HT1  A fix that is answered as accepted is durable, and the same request
//	     again changes nothing.
//	HT2  A fix that is refused is nowhere.
//	HT3  Every error is a Problem with a code of the wire, and holds nothing of
//	     what was sent or of what failed inside.
//	HT4  Nothing is done, and no body read, for who does not prove to be the one
//	     that the call is for: user tokens are not API keys, nor the reverse.
//	HT5  Neither log nor metrics hold a position, a user, a token, a path or a
//	     query.
//	HT6  Every call is bounded: its body in size and time, itself in time, calls
//	     in number at once and for each token. Probes are always answered.
//	HT7  A page of an origin that is not listed changes nothing and reads nothing.
//	HT8  docs/openapi.json and docs/asyncapi.yaml say what is served.
type publicAPI struct {
	cfg       HTTPConfig
	ports     HTTPPorts
	auth      *Auth
	log       *slog.Logger
	users     *allowances
	operators *allowances
	api       huma.API
}

// NewPublicHandler returns the handler of the public port: the HTTP API of
// PROTOCOL.md, the WebSocket at GET /v1/ws, and the API's description at
// /docs/openapi.json. Its metrics are registered with reg.
func NewPublicHandler(cfg HTTPConfig, ports HTTPPorts, auth *Auth, sockets http.Handler, log *slog.Logger, reg prometheus.Registerer) http.Handler {
	p := newPublicAPI(cfg, ports, auth, log)
	mux := http.NewServeMux()
	p.register(mux)
	mux.Handle("GET "+socketPath, sockets)
	slots := make(chan struct{}, p.cfg.InFlight)
	e := &edge{
		mux:    mux,
		pages:  p.cfg.Pages,
		hint:   openAPIPath,
		slots:  slots,
		within: p.cfg.Within,
		now:    p.cfg.Now,
		log:    log,
		seen:   newHTTPMetrics(reg, "public", func() float64 { return float64(len(slots)) }),
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kith_http_callers", Help: "Tokens and keys whose use is remembered for their limits.",
	}, func() float64 { return float64(p.users.size() + p.operators.size()) }))
	return e.handler(p.cfg.Origins.cors)
}

func newPublicAPI(cfg HTTPConfig, ports HTTPPorts, auth *Auth, log *slog.Logger) *publicAPI {
	cfg = cfg.withDefaults()
	return &publicAPI{
		cfg: cfg, ports: ports, auth: auth, log: log,
		users: newAllowances(cfg.Callers, func() *allowance {
			return &allowance{
				requests: rate.NewLimiter(rate.Limit(cfg.RequestsPerS), cfg.Requests),
				fixes:    rate.NewLimiter(rate.Limit(cfg.FixesPerS), cfg.Fixes),
			}
		}),
		operators: newAllowances(cfg.Callers, func() *allowance {
			return &allowance{requests: rate.NewLimiter(rate.Limit(cfg.OperatorPerS), cfg.OperatorMost)}
		}),
	}
}

// register adds every call to mux and to the OpenAPI document.
func (p *publicAPI) register(mux *http.ServeMux) {
	p.api = humago.New(mux, openAPIConfig())
	p.registerHealth()
	p.registerFixes()
	p.registerOwn()
	p.registerHistory()
	p.registerUsers()
	p.registerFriends()
	p.registerOwnTracks()
	p.registerDocument(mux)
}

// NewServer returns a server with the limits that the public and the admin port
// need. The deadlines for bodies and answers do not touch WebSockets, which
// leave the server with their upgrade.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       90 * time.Second, // a CPU profile takes 30 s; bodies have shorter deadlines of their own
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
