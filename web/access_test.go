package web

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// finding is a fault that axe-core found.
type finding struct {
	ID, Impact, Help string
	Nodes            []string
}

// inspect lets axe-core look at a tab.
func (tb *tab) inspect(axe, what string) {
	tb.t.Helper()
	eval[int](tb, axe+"; 0")
	found := eval[[]finding](tb, `axe.run({ resultTypes: ["violations"] }).then((r) => r.violations.map((v) => ({
		ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map((n) => n.html + " " + n.failureSummary) })))`)
	for _, f := range found {
		if f.Impact == "serious" || f.Impact == "critical" {
			tb.t.Errorf("%s: %s (%s): %s\n%s", what, f.ID, f.Impact, f.Help, strings.Join(f.Nodes, "\n"))
		} else {
			tb.t.Logf("%s: %s (%s): %s", what, f.ID, f.Impact, f.Help)
		}
	}
}

// axe-core finds no serious and no critical fault, in light and dark, in every
// state of the page.
func TestAccessible(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		const none = "there is no axe-core here: run npm ci in web to look for faults of access"
		require.Empty(t, os.Getenv("CI"), none)
		t.Skip(none)
	}
	n := serve(t)
	b := openBrowser(t, n.url)
	neighbours(n, "alice", people...)
	for _, name := range []string{"light", "dark"} {
		who := b.open(b.origin, scheme(name))
		who.until("asks who", `document.querySelector("#token")`)
		who.inspect(string(axe), name+": who are you")
		tb := b.be("alice", homeLat, homeLng, chromedp.EmulateViewport(1280, 900), scheme(name))
		for _, user := range people {
			tb.shows(user)
		}
		tb.inspect(string(axe), name+": nearby")
		tb.run(chromedp.Click(chromedp.CSS(`[data-user="chidi"] button`)))
		tb.until("shows sharing", `document.querySelector(".sharing")`)
		tb.inspect(string(axe), name+": sharing")
		tb.run(chromedp.Click(chromedp.CSS("#tab-friends")))
		tb.until("shows requests", `document.querySelector("#ask-user")`)
		tb.inspect(string(axe), name+": friends")
		tb.run(chromedp.Click(chromedp.CSS("#tab-me")))
		tb.until("shows the radius", `document.querySelector("#radius")`)
		tb.inspect(string(axe), name+": me")
		tb.run(chromedp.EmulateViewport(390, 844))
		tb.inspect(string(axe), name+": phone")
	}
}

// press types keys.
func (tb *tab) press(keys string, times int, opts ...chromedp.KeyOption) {
	tb.t.Helper()
	for range times {
		tb.run(chromedp.KeyEvent(keys, opts...))
	}
}

// tabTo presses Tab until what a selector names has the focus, and shows it.
func (tb *tab) tabTo(selector string) {
	tb.t.Helper()
	for range 60 {
		tb.press(kb.Tab, 1)
		if eval[bool](tb, "document.activeElement.matches("+quote(selector)+")") {
			require.True(tb.t, eval[bool](tb, `(() => { const e = document.activeElement;
				const seen = [e, e.nextElementSibling, e.closest(".segments")].filter(Boolean);
				return e.matches(":focus-visible") && seen.some((s) => getComputedStyle(s).outlineStyle !== "none"); })()`), "the focus on %s is not visible", selector)
			return
		}
	}
	tb.t.Fatalf("Tab does not come to %s", selector)
}

// Everything can be done by keyboard alone: move the pin, read about a friend,
// share less, hide, ask for a friendship and accept one.
func TestKeyboardOnly(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	n.call(http.MethodPut, "/v1/users/carol", apiKey, nil)
	b := openBrowser(t, n.url)
	bob := b.be("bob", homeLat, homeLng)
	alice := b.be("alice", homeLat, outLng)

	alice.tabTo("#my-pin")
	alice.press(kb.ArrowLeft, 2, chromedp.KeyModifiers(kb.ModifierShift)) // 2 km each at this zoom
	requireSoon(t, alice.shows("bob"), bob.shows("alice"))

	alice.tabTo(`[data-user="bob"] .row-head`)
	alice.press(kb.Enter, 1)
	alice.tabTo(`.sharing input`)
	alice.press(kb.ArrowRight, 1)
	bob.until("sees only an area", `document.querySelector('[data-user="alice"] .sub')?.textContent.includes("area only")`)

	eval[bool](alice, `(document.activeElement.blur(), true)`)
	alice.tabTo("#ghost")
	alice.press(" ", 1)
	bob.misses("alice", "hidden")
	alice.press(" ", 1)
	bob.shows("alice")

	alice.tabTo("#tab-near")
	alice.press(kb.ArrowRight, 1)
	alice.tabTo("#ask-user")
	alice.press("carol", 1)
	alice.press(kb.Enter, 1)
	alice.until("has asked", `document.querySelector("#said").textContent === "You asked carol."`)
	carol := b.be("carol", homeLat+0.01, homeLng)
	carol.until("is asked", `document.querySelector("#tab-friends .count")?.textContent === "1"`)
	carol.tabTo("#tab-near")
	carol.press(kb.ArrowRight, 1)
	carol.tabTo(`[data-user="alice"] .primary`)
	carol.press(kb.Enter, 1)
	eval[bool](carol, `(document.querySelector("#tab-near").click(), true)`)
	requireSoon(t, carol.shows("alice"), alice.until("shows carol", `(document.querySelector("#tab-near").click(), `+near("carol")+`)`))
}
