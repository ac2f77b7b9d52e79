package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func get(t *testing.T, h http.Handler, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

// files are all files of dist by their URL.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	require.NoError(t, fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := dist.ReadFile(name)
		url := strings.TrimPrefix(name, "dist")
		if url == "/index.html" {
			url = "/"
		}
		all[url] = b
		return err
	}))
	require.Greater(t, len(all), 4)
	return all
}

func TestW2_Policy(t *testing.T) {
	r := get(t, Pages(Options{}), http.MethodGet, "/")
	require.Equal(t, "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:; "+
		"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", r.Header.Get("Content-Security-Policy"))
	require.Contains(t, r.Header.Get("Permissions-Policy"), "geolocation=(self)")
	require.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"))
	require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
	page := body(t, r)
	require.NotRegexp(t, regexp.MustCompile(`(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]`), page)
}

func TestPagesTakesTheHeadersOfTheEdge(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Add("Vary", "Origin")
	Pages(Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Len(t, w.Header().Values("Content-Security-Policy"), 1)
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "script-src 'self'")
	require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
	require.Equal(t, []string{"Origin", "Accept-Encoding"}, w.Header().Values("Vary"))
}

func TestW3_Caching(t *testing.T) {
	h := Pages(Options{})
	for url, content := range files(t) {
		r := get(t, h, http.MethodGet, url)
		require.Equal(t, http.StatusOK, r.StatusCode, url)
		require.NotEmpty(t, r.Header.Get("Content-Type"), url)
		require.Equal(t, string(content), body(t, r), url)
		want := "public, max-age=31536000, immutable"
		if url == "/" {
			want = "no-cache"
		} else {
			require.Regexp(t, `^/assets/[a-z]+-[A-Z0-9]{8}\.[a-z]+$`, url, "no hash in the name")
		}
		require.Equal(t, want, r.Header.Get("Cache-Control"), url)

		tag := r.Header.Get("ETag")
		require.NotEmpty(t, tag)
		again := get(t, h, http.MethodGet, url, "If-None-Match", `"other", W/`+tag)
		require.Equal(t, http.StatusNotModified, again.StatusCode)
		require.Empty(t, body(t, again))
		require.Equal(t, tag, again.Header.Get("ETag"))

		zipped := get(t, h, http.MethodGet, url, "Accept-Encoding", "br, gzip;q=0.8")
		if zipped.Header.Get("Content-Encoding") == "gzip" {
			require.NotEqual(t, tag, zipped.Header.Get("ETag"), "two variants with one tag")
			u, err := gzip.NewReader(zipped.Body)
			require.NoError(t, err)
			plain, err := io.ReadAll(u)
			require.NoError(t, err)
			require.Equal(t, body(t, get(t, h, http.MethodGet, url)), string(plain))
		} else {
			require.Less(t, len(content), 400, "%s is worth compressing", url)
		}
		refused := get(t, h, http.MethodGet, url, "Accept-Encoding", "gzip;q=0")
		require.Empty(t, refused.Header.Get("Content-Encoding"))
	}
}

func TestMethodsAndPaths(t *testing.T) {
	h := Pages(Options{})
	head := get(t, h, http.MethodHead, "/")
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.Empty(t, body(t, head))
	require.NotEqual(t, "0", head.Header.Get("Content-Length"))
	require.Equal(t, http.StatusNotFound, get(t, h, http.MethodGet, "/index.html").StatusCode)
	require.Equal(t, http.StatusNotFound, get(t, h, http.MethodGet, "/assets/").StatusCode)
	require.Equal(t, http.StatusNotFound, get(t, h, http.MethodGet, "/../pages.go").StatusCode)
	post := get(t, h, http.MethodPost, "/")
	require.Equal(t, http.StatusMethodNotAllowed, post.StatusCode)
	require.Equal(t, "GET, HEAD", post.Header.Get("Allow"))
}

// The page names only files that there are, and every file is named by another.
func TestEveryFileIsUsed(t *testing.T) {
	all := files(t)
	var text bytes.Buffer
	for _, content := range all {
		text.Write(content)
	}
	named := map[string]bool{"/": true}
	for _, url := range regexp.MustCompile(`/assets/[\w.-]+`).FindAllString(text.String(), -1) {
		require.Contains(t, all, url)
		named[url] = true
	}
	for url := range all {
		require.Contains(t, named, url, "nothing asks for %s", url)
	}
}

func TestW1_NoAddressElsewhere(t *testing.T) {
	// Names of things, which nobody fetches, and links that a person may follow.
	allowed := regexp.MustCompile(`https?://(www\.w3\.org/(2000/svg|1999/xlink|1998/Math/MathML|1999/xhtml)|leafletjs\.com)`)
	for url, content := range files(t) {
		if path.Ext(url) == ".txt" {
			continue // licences speak of their authors
		}
		for _, at := range regexp.MustCompile(`(?:https?:)?//[a-z0-9-]+\.[a-z0-9.-]+[^\s"'`+"`"+`)]*`).FindAllString(string(content), -1) {
			require.Regexp(t, allowed, at, url)
		}
	}
}

func TestW4_Size(t *testing.T) {
	h, total := Pages(Options{}), 0
	for url := range files(t) {
		total += len(body(t, get(t, h, http.MethodGet, url, "Accept-Encoding", "gzip")))
	}
	t.Logf("%d bytes in all", total)
	require.Less(t, total, 400_000)
}

// W5: what is committed is what the sources make, where they can be built.
func TestW5_DistIsBuilt(t *testing.T) {
	if _, err := os.Stat("node_modules/esbuild"); err != nil {
		t.Skip("the tools that build the page are not here: run npm ci in web")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node to build the page with")
	}
	out, err := exec.Command("node", "build.mjs", "--check").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestOptions(t *testing.T) {
	config := func(o Options) (cfg pageConfig) {
		page := body(t, get(t, Pages(o), http.MethodGet, "/"))
		m := regexp.MustCompile(`<meta name="kith-config" content="([^"]*)">`).FindStringSubmatch(page)
		require.NotNil(t, m, page)
		require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(m[1])), &cfg))
		return cfg
	}
	require.Equal(t, pageConfig{}, config(Options{}))
	require.Equal(t, pageConfig{Dev: true}, config(Options{Dev: true}))
	o := Options{TilesURL: "https://tiles.example.org/{z}/{x}/{y}.png?a=1&b=2", TilesAttribution: `© <a href="https://example.org">"us"</a>`}
	require.NoError(t, o.Validate())
	require.Equal(t, pageConfig{Tiles: &pageTiles{URL: o.TilesURL, Attribution: o.TilesAttribution}}, config(o))

	bad := Options{TilesURL: "ftp://tiles.example.org/{z}/{x}/{y}"}
	require.Error(t, bad.Validate())
	require.Nil(t, config(bad).Tiles)
}

func TestTilesInThePolicy(t *testing.T) {
	for _, c := range []struct{ url, source string }{
		{"https://tiles.example.org/{z}/{x}/{y}.png", "https://tiles.example.org"},
		{"http://localhost:8081/{z}/{x}/{y}", "http://localhost:8081"},
		{"https://{s}.tiles.example.org/{z}/{x}/{y}.png", "https://*.tiles.example.org"},
		{"https://t{s}.example.org/{z}/{x}/{y}{r}.png", "https://*.example.org"},
	} {
		o := Options{TilesURL: c.url}
		require.NoError(t, o.Validate(), c.url)
		r := get(t, Pages(o), http.MethodGet, "/")
		require.Contains(t, r.Header.Get("Content-Security-Policy"), "img-src 'self' data: "+c.source+";", c.url)
		require.Equal(t, "strict-origin", r.Header.Get("Referrer-Policy"))
	}
	for _, url := range []string{
		"tiles/{z}/{x}/{y}", "https:///{z}/{x}/{y}", "https://x.org/{z}/{x}", "https://x.org;script-src *;/{z}/{x}/{y}",
		"https://x.org'/{z}/{x}/{y}", "javascript:alert({z}{x}{y})", "https://* x/{z}/{x}/{y}", "https://{s}/{z}/{x}/{y}",
	} {
		o := Options{TilesURL: url}
		require.Error(t, o.Validate(), url)
		require.NotContains(t, get(t, Pages(o), http.MethodGet, "/").Header.Get("Content-Security-Policy"), "data: ")
	}
}

// What of the page needs no browser is tested by node's own runner.
func TestScripts(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		const none = "there is no node here to test the scripts of the page with"
		require.Empty(t, os.Getenv("CI"), none)
		t.Skip(none)
	}
	out, err := exec.Command("node", "--test", "test/").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
