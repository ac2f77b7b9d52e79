package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// site serves the files of a built page from memory.
type site struct {
	files  map[string]*asset // by URL path
	header http.Header
}

// asset is one file, as it is and compressed.
type asset struct {
	kind  string // Content-Type
	cache string // Cache-Control
	plain variant
	zip   func() variant // made when first asked for; empty = not worth it
}

type variant struct {
	body []byte
	etag string
}

const (
	forEver   = "public, max-age=31536000, immutable"
	askAlways = "no-cache"
)

// kinds are the types of files that a page consists of.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// newSite serves index.html of files at / and the rest by its path. page may
// change the text of index.html.
func newSite(files fs.FS, header http.Header, page func(string) string) *site {
	s := &site{files: map[string]*asset{}, header: header}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if name == "index.html" {
			s.files["/"] = newAsset(name, []byte(page(string(body))), askAlways)
			return nil
		}
		s.files["/"+name] = newAsset(name, body, forEver)
		return nil
	})
	if err != nil {
		panic(err) // the files are embedded: reading them does not fail
	}
	return s
}

func newAsset(name string, body []byte, cache string) *asset {
	a := &asset{kind: kinds[path.Ext(name)], cache: cache, plain: newVariant(body, "")}
	a.zip = sync.OnceValue(func() variant {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // fails for levels that do not exist
		_, _ = w.Write(body)                                  // a Buffer takes everything
		_ = w.Close()
		if b.Len() >= len(body) {
			return variant{}
		}
		return newVariant(b.Bytes(), "-gzip")
	})
	return a
}

func newVariant(body []byte, suffix string) variant {
	sum := sha256.Sum256(body)
	return variant{body: body, etag: `"` + hex.EncodeToString(sum[:12]) + suffix + `"`}
}

// ServeHTTP answers GET and HEAD for what there is.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, values := range s.header {
		h[name] = values
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "this is a page: GET it", http.StatusMethodNotAllowed)
		return
	}
	a := s.files[r.URL.Path]
	if a == nil {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "there is no such page; the map is at /", http.StatusNotFound)
		return
	}
	a.serve(w, r)
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", a.cache)
	h.Add("Vary", "Accept-Encoding")
	v := a.plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		if zipped := a.zip(); zipped.body != nil {
			v = zipped
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", v.etag)
	if matches(r.Header.Get("If-None-Match"), v.etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(v.body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(v.body) // who hung up does not want it
	}
}

// acceptsGzip reports whether an Accept-Encoding lets gzip through (RFC 9110,
// 12.5.3), as far as browsers and proxies write it.
func acceptsGzip(header string) bool {
	for _, part := range strings.Split(header, ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name := strings.TrimSpace(coding); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		_, q, found := strings.Cut(params, "q=")
		weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !found || err == nil && weight > 0
	}
	return false
}

// matches reports whether an If-None-Match names etag. Weak or strong makes no
// difference to it.
func matches(header, etag string) bool {
	for _, part := range strings.Split(header, ",") {
		if tag := strings.TrimPrefix(strings.TrimSpace(part), "W/"); tag == etag || tag == "*" {
			return true
		}
	}
	return false
}
