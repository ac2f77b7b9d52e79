package gateway

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/wire"
)

// adminSlots bounds what the admin port serves at once.
const adminSlots = 64

// AdminConfig says how the admin port behaves.
type AdminConfig struct {
	// Hosts are the names under which the port may be called besides those of
	// the machine itself; "*" = any. A page that has its own name point to this
	// machine is thereby kept out.
	Hosts []string
	Page  http.Handler // the operator's page; nil = nothing
	Stats *Stats       // nil = no GET /v1/stats
	Users Inspector    // with Hub: who can be traced; nil = nobody
	Hub   *Hub
}

// admin is the API of the admin port.
type admin struct {
	cluster Cluster
	log     *slog.Logger
	drains  atomic.Int32 // how often the drain was asked for
}

// NewAdminHandler returns the handler of the admin port, which knows no tokens:
// who reaches it may use it, so it listens on loopback unless told otherwise.
// It shows what gatherer has, and registers its own metrics with reg.
func NewAdminHandler(cfg AdminConfig, cluster Cluster, gatherer prometheus.Gatherer, log *slog.Logger, reg prometheus.Registerer) http.Handler {
	a := &admin{cluster: cluster, log: log}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // some figures are better than none
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	}))
	// pprof's cmdline is left out: the command line may hold secrets.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /v1/cluster", a.showCluster)
	mux.HandleFunc("POST /v1/drain", a.drain)
	if cfg.Stats != nil {
		mux.HandleFunc("GET /v1/stats", cfg.Stats.show)
	}
	if cfg.Users != nil {
		t := &tracer{users: cfg.Users, hub: cfg.Hub}
		mux.HandleFunc("GET /v1/users/{user}/trace", t.trace)
	}
	slots := make(chan struct{}, adminSlots)
	e := &edge{
		mux:   mux,
		pages: cfg.Page,
		hint:  "/",
		slots: slots,
		now:   time.Now,
		log:   log,
		seen:  newHTTPMetrics(reg, "admin", func() float64 { return float64(len(slots)) }),
	}
	return e.handler(func(next http.Handler) http.Handler { return guardAdmin(cfg.Hosts, next) })
}

// guardAdmin keeps out pages of other sites, which can make the operator's
// browser call this port though they cannot reach it themselves.
func guardAdmin(hosts []string, next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostName(r.Host)
		named := slices.ContainsFunc(hosts, func(h string) bool { return h == "*" || strings.EqualFold(h, name) })
		switch {
		case !named && !loopbackHost(r.Host):
			newProblem(http.StatusForbidden, wire.Forbidden, "the admin port is not called by this name; use localhost, or add the name to its hosts").write(w)
		case cross.Check(r) != nil || embedded(r):
			newProblem(http.StatusForbidden, wire.Forbidden, "pages of other sites may not use the admin port").write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// embedded reports whether a page of another site loads this as a part of
// itself; a link that somebody follows is a navigation.
func embedded(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// drain begins to drain; asked again, it ends the process at once.
func (a *admin) drain(w http.ResponseWriter, _ *http.Request) {
	force := a.drains.Add(1) > 1
	a.log.Info("drain asked for on the admin port", "force", force)
	state := "draining"
	if force {
		state = "stopping"
	}
	writeBody(w, http.StatusAccepted, map[string]string{"state": state})
	_ = http.NewResponseController(w).Flush() // the process may end before this returns
	a.cluster.Drain(force)
}

type memberBody struct {
	Node     string `json:"node"`
	Instance string `json:"instance"`
	Address  string `json:"address"`
	State    string `json:"state"`
	Self     bool   `json:"self"`
	Users    int    `json:"users"`
}

type instanceBody struct {
	Node     string          `json:"node"`
	Instance string          `json:"instance"`
	State    string          `json:"state"`
	Beat     presence.Millis `json:"beat"`
}

type leaseBody struct {
	Holder string          `json:"holder"`
	Until  presence.Millis `json:"until"`
}

type linkBody struct {
	Peer     string `json:"peer"`
	Up       bool   `json:"up"`
	InFlight int    `json:"in_flight"`
}

type clusterBody struct {
	Members   []memberBody   `json:"members"`
	Instances []instanceBody `json:"instances"`
	Lease     *leaseBody     `json:"lease"`
	Rooms     int            `json:"rooms"`
	Links     []linkBody     `json:"links"`
}

func (a *admin) showCluster(w http.ResponseWriter, r *http.Request) {
	info, err := a.cluster.Cluster(r.Context())
	if err != nil {
		a.log.Warn("the cluster cannot be shown", "err", err)
		portProblem(err).write(w)
		return
	}
	body := clusterBody{Members: []memberBody{}, Instances: []instanceBody{}, Rooms: info.Rooms, Links: []linkBody{}}
	for _, m := range info.Members {
		body.Members = append(body.Members, memberBody{m.Instance.Name, m.Instance.String(), m.Address, m.State, m.Self, m.Users})
	}
	for _, i := range info.Instances {
		body.Instances = append(body.Instances, instanceBody{i.Instance.Name, i.Instance.String(), i.State, i.Beat})
	}
	if l := info.Lease; l != nil {
		body.Lease = &leaseBody{l.Holder.String(), l.Until}
	}
	for _, l := range info.Links {
		body.Links = append(body.Links, linkBody{l.Peer.String(), l.Up, l.InFlight})
	}
	writeBody(w, http.StatusOK, body)
}

func writeBody(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, body) // the client is gone if this fails
}
