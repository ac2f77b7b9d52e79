package web

import (
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
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

func TestLooks(t *testing.T) {
	n := serve(t)
	b := openBrowser(t, n.url)
	n.befriend("alice", "zoe")
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{
		{"light", "light", 1280, 800}, {"dark", "dark", 1280, 800}, {"phone", "light", 390, 844}, {"phone-dark", "dark", 390, 844},
	} {
		tb := b.be("alice", homeLat, homeLng, chromedp.EmulateViewport(look.width, look.height), scheme(look.scheme))
		neighbours(n, "alice", people...)
		for _, name := range people {
			tb.shows(name)
		}
		tb.until("is still", `new Promise((done) => setTimeout(() => done(true), 2500))`)
		tb.capture(look.name)
		tb.run(chromedp.Click(chromedp.CSS(fmt.Sprintf(`[data-user="%s"] button`, "chidi"))))
		tb.until("shows sharing", `document.querySelector(".sharing")`)
		tb.capture(look.name + "-sharing")
		tb.run(chromedp.Click(chromedp.CSS("#tab-me")))
		tb.capture(look.name + "-me")
		tb.run(chromedp.Click(chromedp.CSS("#tab-friends")))
		tb.capture(look.name + "-friends")
		tb.run(chromedp.Navigate("about:blank"))
	}
	out := b.open(b.origin, chromedp.EmulateViewport(1280, 800), scheme("light"))
	out.until("asks who", `document.querySelector("#token")`)
	out.capture("who")
}
