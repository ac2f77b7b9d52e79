package gateway

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/kith-nearby/kith/wire"
)

// Origins decides which browser pages may use the public port. The zero value
// lets in only pages that the node itself served.
type Origins struct {
	allowed  map[string]bool
	loopback bool
}

// NewOrigins allows the listed origins ("https://app.example.org", scheme and
// port as the browser sends them), and with loopback also every page from this
// machine. An entry that is not an origin matches nothing.
func NewOrigins(list []string, loopback bool) Origins {
	o := Origins{allowed: make(map[string]bool, len(list)), loopback: loopback}
	for _, s := range list {
		o.allowed[strings.ToLower(strings.TrimSuffix(s, "/"))] = true
	}
	return o
}

// Allows reports whether r comes from a page that may call. A request without
// an Origin is not from a page of another site.
func (o Origins) Allows(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || o.listed(origin) || sameOrigin(origin, r)
}

func (o Origins) listed(origin string) bool {
	if o.allowed[strings.ToLower(origin)] {
		return true
	}
	if !o.loopback {
		return false
	}
	u, err := url.Parse(origin)
	return err == nil && loopbackHost(u.Host)
}

func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// loopbackHost reports whether a Host header or URL host, with or without port,
// names this machine.
func loopbackHost(host string) bool {
	name := hostName(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// hostName is the host without port and brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// cors answers preflights of allowed origins itself and tells browsers which
// page may read an answer. A page of another origin that would change something
// is refused: its browser may add a password that it remembers.
func (o Origins) cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		w.Header().Add("Vary", "Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		if !o.Allows(r) {
			if r.Method != http.MethodGet && r.Method != http.MethodHead {
				newProblem(http.StatusForbidden, wire.Forbidden, "pages of this origin may not call; add it to gateway.origins").write(w)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h.Set("Access-Control-Expose-Headers", "Link, Retry-After")
		next.ServeHTTP(w, r)
	})
}
