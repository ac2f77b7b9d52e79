package main

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/kith-nearby/kith/web"
)

// personasPath is where the map page asks whom one may be, when trying.
const personasPath = "/dev/personas.json"

// pages answers what is no call of the API: the map page, if the configuration
// wants it, and the personas of kith dev.
func (n *Node) pages(opt nodeOptions) http.Handler {
	var page http.Handler
	if ui := n.cfg.UI; ui.Enabled {
		page = web.Pages(web.Options{TilesURL: ui.TilesURL, TilesAttribution: ui.TilesAttribution, Dev: opt.Personas != nil})
	}
	if opt.Personas == nil {
		return page
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+personasPath, opt.Personas)
	if page != nil {
		mux.Handle("/", page)
	}
	return mux
}

// personas are people whom one may be on the map page, with their tokens. The
// zero value has none yet.
type personas struct{ json atomic.Pointer[[]byte] }

// ServeHTTP answers only requests to this machine by a name of its own: a page
// from elsewhere whose name leads here must not read the tokens.
func (p *personas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		http.Error(w, "ask for it as localhost", http.StatusForbidden)
		return
	}
	said := p.json.Load()
	if said == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "they are not there yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(*said)
}
