package web

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed operator
var operator embed.FS

// Operator serves the page of the admin port and its files under /operator/. It
// is not built: what stands in operator is what browsers get.
func Operator() http.Handler {
	h := http.Header{}
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; "))
	h.Set("Permissions-Policy", "geolocation=(), camera=(), microphone=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	s := &site{files: map[string]*asset{}, header: h}
	names, err := fs.Glob(operator, "operator/*")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for _, name := range names {
		body, err := operator.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		s.files["/"+name] = newAsset(name, body, askAlways)
	}
	s.files["/"] = s.files["/operator/index.html"]
	delete(s.files, "/operator/index.html")
	return s
}
