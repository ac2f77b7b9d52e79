package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/kith-nearby/kith/wire"
)

const indexStyle = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem; }
li { display: grid; grid-template-columns: 12rem 1fr; padding: .5rem 0; border-top: 1px solid var(--line); }
ul { list-style: none; padding: 0; }
a:focus-visible { outline: 3px solid; outline-offset: 2px; }
code { font-family: ui-monospace, monospace; }
@media (max-width: 30rem) { li { grid-template-columns: 1fr; } }
`

const indexPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kith: admin port</title>
<style>` + indexStyle + `</style>
<main>
<h1>Kith</h1>
<p>This is the admin port of one node. Whoever reaches it may use it, so keep it on loopback.</p>
<nav aria-label="What is here">
<ul>
<li><a href="/v1/cluster">/v1/cluster</a> <span>Nodes, leases, rooms and links, as this node sees them</span></li>
<li><a href="/metrics">/metrics</a> <span>Figures for Prometheus</span></li>
<li><a href="/debug/pprof/">/debug/pprof/</a> <span>Profiles of the process</span></li>
</ul>
</nav>
<p>To drain the node: <code>curl -X POST http://127.0.0.1:9090/v1/drain</code> with the port of this page. A second time ends it at once.</p>
</main>
</html>
`

var indexPolicy = func() string {
	sum := sha256.Sum256([]byte(indexStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// index is the page of an admin port that has no other.
func index(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		newProblem(http.StatusNotFound, wire.NotFound, "there is nothing at this path; / says what there is").write(w)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", indexPolicy)
	_, _ = w.Write([]byte(indexPage))
}
