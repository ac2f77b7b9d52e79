package web

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"github.com/stretchr/testify/require"
)

// page is where the page of a node is.
func (n *node) page() string {
	t := n.t
	t.Helper()
	target, err := url.Parse(n.url)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }, ErrorLog: log.New(io.Discard, "", 0)}
	pages := Pages(Options{})
	mux := http.NewServeMux()
	mux.Handle("/v1/", proxy)
	mux.Handle("/", pages)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}
