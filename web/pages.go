package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
)

//go:embed dist
var dist embed.FS

// Options says how the map page behaves.
type Options struct {
	// TilesURL is where tiles of a map come from, with {z}, {x} and {y}, and {s}
	// for a letter if there is a server for each. "" = none: outlines and a grid.
	TilesURL string
	// TilesAttribution is what the map says of their source, as HTML.
	TilesAttribution string
	// Dev offers the people of /dev/personas.json.
	Dev bool
}

// Validate says what is wrong with o, if anything.
func (o Options) Validate() error {
	if o.TilesURL == "" {
		return nil
	}
	u, err := url.Parse(strings.NewReplacer("{s}", "a", "{z}", "0", "{x}", "0", "{y}", "0", "{r}", "").Replace(o.TilesURL))
	switch {
	case err != nil:
		return fmt.Errorf("tiles URL: %w", err)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, ";,' *"):
		return fmt.Errorf("tiles URL: %q is no http or https URL", o.TilesURL)
	}
	if source := o.tilesSource(); strings.HasSuffix(source, "*.") {
		return fmt.Errorf("tiles URL: %q has no domain after {s}", o.TilesURL)
	}
	for _, part := range []string{"{z}", "{x}", "{y}"} {
		if !strings.Contains(o.TilesURL, part) {
			return fmt.Errorf("tiles URL: %q has no %s", o.TilesURL, part)
		}
	}
	return nil
}

// tilesSource is what the policy calls the tile server: scheme and host. Whoever
// has several of them has them under one domain.
func (o Options) tilesSource() string {
	scheme, rest, _ := strings.Cut(o.TilesURL, "://")
	host, _, _ := strings.Cut(rest, "/")
	if _, after, ok := strings.Cut(host, "{s}"); ok {
		_, domain, _ := strings.Cut(after, ".") // {s} may be part of a longer label
		host = "*." + domain
	}
	return scheme + "://" + host
}

// pageConfig is what the page is told, in the content of its meta element
// kith-config.
type pageConfig struct {
	Dev   bool       `json:"dev,omitempty"`
	Tiles *pageTiles `json:"tiles,omitempty"`
}

type pageTiles struct {
	URL         string `json:"url"`
	Attribution string `json:"attribution,omitempty"`
}

// Pages serves the map at / and its files under /assets/. Options that are not
// valid count as if no tiles were set.
func Pages(o Options) http.Handler {
	if o.Validate() != nil {
		o.TilesURL = ""
	}
	cfg := pageConfig{Dev: o.Dev}
	if o.TilesURL != "" {
		cfg.Tiles = &pageTiles{URL: o.TilesURL, Attribution: o.TilesAttribution}
	}
	said, err := json.Marshal(cfg)
	if err != nil {
		panic(err) // two strings and a bool
	}
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return newSite(files, o.headers(), func(page string) string {
		return strings.Replace(page, `content="{}"`, `content="`+html.EscapeString(string(said))+`"`, 1)
	})
}

// headers are those of every answer: what the page may do, and what others may
// do with it.
func (o Options) headers() http.Header {
	images, referrer := "img-src 'self' data:", "no-referrer"
	if o.TilesURL != "" {
		images += " " + o.tilesSource()
		referrer = "strict-origin" // tile servers ask who uses them
	}
	policy := []string{
		"default-src 'self'", "script-src 'self'", "style-src 'self'", images, "connect-src 'self' ws: wss:",
		"object-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}
	h := http.Header{}
	h.Set("Content-Security-Policy", strings.Join(policy, "; "))
	h.Set("Permissions-Policy", "geolocation=(self), camera=(), microphone=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", referrer)
	h.Set("X-Content-Type-Options", "nosniff")
	return h
}
