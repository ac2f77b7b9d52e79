package web

import (
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// scheme makes a tab prefer light or dark.
func scheme(name string) step {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// neighbours puts people around home, who are friends of user, and lets some of
// them walk.
func neighbours(n *node, user string, names ...string) {
	n.t.Helper()
	for i, name := range names {
		n.befriend(user, name)
		angle, far := float64(i)*2.4, 900+float64(i)*520
		f := fix{Lat: homeLat + far*math.Cos(angle)/111_195, Lng: homeLng + far*math.Sin(angle)/67_700, Seq: 1, Acc: 8 + 60*float64(i%4)}
		walk := func(seq int, by float64) fix {
			heading, speed := math.Mod(angle*57.3+100, 360), 1.2+float64(i%5)*3
			g := f
			g.Seq, g.Heading, g.Speed = seq, &heading, &speed
			g.Lat += by * math.Cos(heading/57.3) / 111_195
			g.Lng += by * math.Sin(heading/57.3) / 67_700
			return g
		}
		if i%3 == 2 {
			n.report(name, f)
			continue
		}
		for k := range 4 {
			n.report(name, walk(k+1, 90*float64(k)))
		}
	}
}

var people = []string{"bob", "chidi", "dana.k", "emil", "farah", "goran", "hana", "ines_m", "jun", "katya", "leo", "mei.lin", "noor", "oskar"}

// fits checks that nothing sticks out of the window, that map and panel both
// have room, and that what can be pressed can be hit.
func (tb *tab) fits(what string) {
	tb.t.Helper()
	type sizes struct {
		Wide                int
		MapHigh, PanelHigh  float64
		Small, Out, Clipped []string
	}
	got := eval[sizes](tb, `(() => {
		const box = (e) => e.getBoundingClientRect();
		const words = (e) => (e.textContent || e.id).trim();
		const press = [...document.querySelectorAll("button, a.button, select, .switch, .segment, #my-pin")].filter((e) => box(e).width > 0);
		return {
			Wide: document.scrollingElement.scrollWidth - innerWidth,
			MapHigh: box(document.querySelector(".map-holder")).height, PanelHigh: box(document.querySelector(".panel")).height,
			Small: press.filter((e) => box(e).width < 24 || box(e).height < 18).map(words),
			Out: press.filter((e) => box(e).left < -0.5 || box(e).right > innerWidth + 0.5).map(words),
			Clipped: [...document.querySelectorAll(".panel button, .panel label, .panel .sub")].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map(words),
		};
	})()`)
	require.LessOrEqual(tb.t, got.Wide, 0, "%s: the page is wider than the window", what)
	require.Greater(tb.t, got.MapHigh, 300.0, what)
	require.Greater(tb.t, got.PanelHigh, 300.0, what)
	require.Empty(tb.t, got.Small, "%s: too small to hit", what)
	require.Empty(tb.t, got.Out, "%s: beyond the window", what)
	require.Empty(tb.t, got.Clipped, "%s: text is cut off", what)
}

// What the page looks like, in light and dark, on a desk and on a phone: in
// pictures for a person to look at, and by what can be measured.
func TestLooks(t *testing.T) {
	n := serve(t)
	b := openBrowser(t, n.url)
	neighbours(n, "alice", people...)
	tb := b.be("alice", homeLat, homeLng, scheme("light"))
	for _, name := range people {
		tb.shows(name)
	}
	tb.until("has come to rest", `new Promise((done) => setTimeout(() => done(true), 1800))`)
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{
		{"light", "light", 1280, 800}, {"dark", "dark", 1280, 800}, {"phone", "light", 390, 844}, {"phone-dark", "dark", 390, 844},
	} {
		tb.run(chromedp.EmulateViewport(look.width, look.height), scheme(look.scheme))
		tb.button("chidi")
		tb.until("shows sharing", `document.querySelector(".sharing")`)
		tb.fits(look.name)
		tb.capture(look.name)
		tb.button("chidi")
		for _, name := range []string{"friends", "me", "near"} {
			tb.run(chromedp.Click(chromedp.CSS("#tab-" + name)))
			tb.until("shows "+name, fmt.Sprintf(`document.querySelector("#tab-%s").ariaSelected === "true"`, name))
			tb.fits(look.name + ": " + name)
		}
	}
}
