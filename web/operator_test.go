package web

import (
	"flag"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write generated files anew")

// wanted asks the operator's page for a path.
func wanted(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	Operator().ServeHTTP(w, r)
	return w
}

func TestOperator_ServesWhatItRefersTo(t *testing.T) {
	refers := regexp.MustCompile(`(?:src|href)="(/operator/[^"#]*)|(?:from|import) "\./([^"]+)"`)
	seen := map[string]bool{}
	for todo := []string{"/"}; len(todo) > 0; todo = todo[1:] {
		path := todo[0]
		if seen[path] {
			continue
		}
		seen[path] = true
		w := wanted(t, path)
		require.Equal(t, 200, w.Code, path)
		for _, m := range refers.FindAllStringSubmatch(w.Body.String(), -1) {
			if m[1] == "" {
				m[1] = "/operator/" + m[2]
			}
			todo = append(todo, m[1])
		}
	}
	files, err := os.ReadDir("operator")
	require.NoError(t, err)
	for _, f := range files {
		if f.Name() != "index.html" {
			require.True(t, seen["/operator/"+f.Name()], "%s is referred to by nothing", f.Name())
		}
	}
	require.Equal(t, 404, wanted(t, "/nope").Code)
	require.Equal(t, 404, wanted(t, "/operator/index.html").Code)
}

func TestOperator_IsStrict(t *testing.T) {
	w := wanted(t, "/")
	policy := w.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	require.NotContains(t, policy, "*")
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
	require.Equal(t, 304, wanted(t, "/", "If-None-Match", w.Header().Get("ETag")).Code)
	inline := regexp.MustCompile(`(?i)<script(?:>| [^>]*[^/]>[^<])|<style|\sstyle="|\son[a-z]+="|https?://`)
	for _, path := range []string{"/", "/operator/codes.html"} {
		require.NotRegexp(t, inline, wanted(t, path).Body.String(), path)
	}
	files, err := os.ReadDir("operator")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile("operator/" + f.Name())
		require.NoError(t, err)
		if strings.HasSuffix(f.Name(), ".js") {
			require.NotRegexp(t, `innerHTML|insertAdjacentHTML|document\.write|eval\(`, string(text), f.Name())
		}
	}
}

// token of a style sheet: --name: value;
var styleToken = regexp.MustCompile(`(--[a-z0-9-]+): ([^;]+);`)

// The two pages look alike because their tokens are the same.
func TestOperator_HasTheTokensOfTheMap(t *testing.T) {
	read := func(file string) (light, dark map[string]string) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, rest, ok := strings.Cut(string(text), ":root {")
		require.True(t, ok)
		first, rest, _ := strings.Cut(rest, "}")
		_, rest, ok = strings.Cut(rest, "@media (prefers-color-scheme: dark)")
		require.True(t, ok)
		second, _, _ := strings.Cut(rest, "}")
		tokens := func(s string) map[string]string {
			m := map[string]string{}
			for _, found := range styleToken.FindAllStringSubmatch(s, -1) {
				m[found[1]] = found[2]
			}
			return m
		}
		return tokens(first), tokens(second)
	}
	light, dark := read("operator/style.css")
	mapLight, mapDark := read("src/style.css")
	require.Greater(t, len(light), 10)
	for name, value := range light {
		require.Equal(t, mapLight[name], value, name)
	}
	for name, value := range dark {
		require.Equal(t, mapDark[name], value, "%s, dark", name)
	}
	for name := range light {
		require.Equal(t, mapDark[name], dark[name], "%s, dark", name)
	}
}

// TestOperator_CodesAreThoseOfTheDocs makes codes.html of docs/operations.md.
func TestOperator_CodesAreThoseOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "\n## Codes\n")
	require.True(t, ok)
	section, _, ok = strings.Cut(section, "\n## ")
	require.True(t, ok)
	page := codesPage(section)
	if *rewrite {
		require.NoError(t, os.WriteFile("operator/codes.html", []byte(page), 0o644))
	}
	is, err := os.ReadFile("operator/codes.html")
	require.NoError(t, err)
	require.Equal(t, page, string(is), "docs/operations.md has changed: go test ./web -run Codes -rewrite")
	require.Contains(t, page, `id="close-4101"`)
	require.Contains(t, page, `id="error-bad-json"`)
}

// codesPage is the section of the docs as a page: headings, paragraphs and
// tables are all that it has.
func codesPage(section string) string {
	var b strings.Builder
	b.WriteString(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Kith: codes</title>
<link rel="icon" href="/operator/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/operator/style.css">
</head>
<body>
<main class="codes">
<p><a href="/">Back to the figures</a></p>
<h1>Codes</h1>
`)
	open := false
	for block := range strings.SplitSeq(strings.TrimSpace(section), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		switch {
		case strings.HasPrefix(lines[0], "### "):
			if open {
				b.WriteString("</section>\n")
			}
			fmt.Fprintf(&b, "<section>\n<h2>%s</h2>\n", inlineCode(strings.TrimPrefix(lines[0], "### ")))
			open = true
		case strings.HasPrefix(lines[0], "|"):
			b.WriteString("<div class=\"scroll\" role=\"group\" aria-label=\"Codes\" tabindex=\"0\"><table>\n")
			for n, line := range lines {
				if n != 1 { // the line below the heads
					codesRow(&b, strings.Split(strings.Trim(line, "| "), "|"), n == 0)
				}
			}
			b.WriteString("</tbody></table></div>\n")
		default:
			fmt.Fprintf(&b, "<p>%s</p>\n", inlineCode(strings.Join(lines, " ")))
		}
	}
	b.WriteString("</section>\n</main>\n</body>\n</html>\n")
	return b.String()
}

var (
	quotedCode = regexp.MustCompile("`([^`]+)`")
	closeCode  = regexp.MustCompile(`^[0-9]{4}$`)
)

func inlineCode(text string) string {
	return quotedCode.ReplaceAllString(html.EscapeString(strings.TrimSpace(text)), "<code>$1</code>")
}

// codesRow writes a row whose first cell has the anchors that wire names.
func codesRow(b *strings.Builder, cells []string, head bool) {
	if head {
		b.WriteString("<thead><tr>")
		for _, cell := range cells {
			fmt.Fprintf(b, `<th scope="col">%s</th>`, inlineCode(cell))
		}
		b.WriteString("</tr></thead><tbody>\n")
		return
	}
	first := strings.TrimSpace(cells[0])
	if closeCode.MatchString(first) {
		first = fmt.Sprintf(`<span id="close-%s">%s</span>`, first, first)
	} else {
		first = quotedCode.ReplaceAllStringFunc(first, func(code string) string {
			code = strings.Trim(code, "`")
			return fmt.Sprintf(`<code id="error-%s">%s</code>`, strings.ReplaceAll(code, "_", "-"), code)
		})
	}
	fmt.Fprintf(b, `<tr><th scope="row">%s</th>`, first)
	for _, cell := range cells[1:] {
		fmt.Fprintf(b, "<td>%s</td>", inlineCode(cell))
	}
	b.WriteString("</tr>\n")
}
