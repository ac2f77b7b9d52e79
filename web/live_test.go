package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Berlin: a view of the default radius has about 20 m a pixel.
const (
	homeLat, homeLng = 52.52, 13.405
	outLng           = homeLng + 0.1404 // 9.5 km east of home
)

// soon is how soon a change of one person must be seen by both.
const soon = time.Second

// Two people in two tabs: one is dragged into the other's radius and out again.
func TestTwoPeopleMeet(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	b := openBrowser(t, n.url)
	bob := b.be("bob", homeLat, homeLng)
	alice := b.be("alice", homeLat, outLng)

	alice.drag(-160, 0)
	requireSoon(t, alice.shows("bob"), bob.shows("alice"))
	bob.until("says so", `document.querySelector("#said").textContent.startsWith("alice is near")`)
	require.Equal(t, "1", eval[string](alice, `document.querySelector("#tab-near .count").textContent`))

	alice.drag(260, 0)
	requireSoon(t, alice.misses("bob", "away"), bob.misses("alice", "away"))
	bob.until("says why", `document.querySelector("#said").textContent === "alice is gone: moved out of range."`)
}

func requireSoon(t *testing.T, took ...time.Duration) {
	t.Helper()
	t.Logf("seen after %v", took)
	for _, d := range took {
		require.Less(t, d, soon)
	}
}

// The node is stopped and started again on the same data: both come back by
// themselves and agree.
func TestNodeComesBack(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	b := openBrowser(t, n.url)
	bob := b.be("bob", homeLat, homeLng)
	alice := b.be("alice", homeLat+0.03, homeLng)
	alice.shows("bob")
	bob.shows("alice")
	b.whileDown(func() {
		n.stop()
		for _, tb := range []*tab{alice, bob} {
			tb.until("knows that the node is away", `["waiting", "connecting"].includes(document.querySelector("#link").dataset.state) && document.querySelector(".banner")`)
		}
		alice.drag(0, 40) // moves while nobody hears it
		n.start()
		for _, tb := range []*tab{alice, bob} {
			tb.until("is back", connected)
		}
	})
	alice.shows("bob")
	bob.shows("alice")
	const distance = `document.querySelector(".rows .row .far b").textContent`
	alice.until("has nothing left to send", pendingIs("nothing"))
	bob.until("agrees with alice", fmt.Sprintf("%s === %q", distance, eval[string](alice, distance)))
}

const connected = `document.querySelector("#link")?.dataset.state === "open"`

// pendingIs looks at what the tab Me says of unacknowledged fixes.
func pendingIs(want string) string {
	return fmt.Sprintf(`(document.querySelector("#tab-me").click(), [...document.querySelectorAll("dt")].some((dt) => dt.textContent === "Not acknowledged" && dt.nextSibling.textContent === %q)) && (document.querySelector("#tab-near").click(), true)`, want)
}

// The network goes and comes back: what moved meanwhile arrives.
func TestOffline(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	wires := newRelay(t, n.url)
	b := openBrowser(t, wires.url())
	other := newRelay(t, n.url)
	b.allow(other.url())
	bob := b.beAt(other.url(), "bob", homeLat, homeLng)
	alice := b.be("alice", homeLat, homeLng+0.06)
	bob.shows("alice")
	b.whileDown(func() {
		alice.run(offline(true))
		wires.setCut(true)
		bob.misses("alice", "offline")
		alice.until("says that it is offline", `document.querySelector("#link").textContent.includes("Offline")`)
		alice.drag(-60, 0)
		alice.until("says that fixes wait", `/wait/.test(document.querySelector(".self .sub").textContent)`)
		wires.setCut(false)
		alice.run(offline(false))
		alice.until("is back", connected)
	})
	alice.shows("bob")
	bob.shows("alice")
	alice.until("has nothing left to send", pendingIs("nothing"))
}

// offline makes a tab believe that its device is offline, as far as Chromium
// goes: open sockets it leaves alone.
func offline(is bool) step {
	return command(network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
}

// A drag sends fixes as it goes, about three a second, and the last place twice.
func TestDragIsPaced(t *testing.T) {
	n := serve(t)
	b := openBrowser(t, n.url)
	alice := b.be("alice", homeLat, homeLng)
	var mu sync.Mutex
	var sent []string
	require.NoError(t, chromedp.Listen(alice.ctx, func(ev any) {
		if ev, ok := ev.(*network.EventWebSocketFrameSent); ok && strings.Contains(string(ev.Response.PayloadData), `"type":"fix"`) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, string(ev.Response.PayloadData))
		}
	}))
	began := time.Now()
	for range 6 {
		alice.drag(20, 10)
	}
	took := time.Since(began).Seconds()
	alice.until("has sent all", `new Promise((done) => setTimeout(() => done(true), 1200))`)
	mu.Lock()
	defer mu.Unlock()
	require.GreaterOrEqual(t, len(sent), 6*2)
	require.LessOrEqual(t, float64(len(sent)), 3*took+6*2+1, "%d fixes in %.1f s", len(sent), took)
	type place struct{ Lat, Lng float64 }
	var last, before place
	require.NoError(t, json.Unmarshal([]byte(sent[len(sent)-1]), &last))
	require.NoError(t, json.Unmarshal([]byte(sent[len(sent)-2]), &before))
	require.Equal(t, last, before)
}

// Who prefers less motion sees friends where they are, without a glide.
func TestReducedMotion(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	n.report("bob", fix{Seq: 1, Lat: homeLat + 0.01, Lng: homeLng})
	b := openBrowser(t, n.url)
	moves := 0
	// frames is how many frames are painted when bob moves.
	frames := func(tb *tab) int {
		tb.until("rests", `new Promise((done) => { window.__frames.length = 0; setTimeout(() => done(window.__frames.length === 0), 500); })`)
		before := eval[string](tb, `document.querySelector(".rows .far b").textContent`)
		moves++
		n.report("bob", fix{Seq: 1 + moves, Lat: homeLat + 0.01 + 0.003*float64(moves), Lng: homeLng})
		tb.until("has moved", `document.querySelector(".rows .far b").textContent !== `+quote(before))
		return eval[int](tb, `new Promise((done) => setTimeout(() => done(window.__frames.length), 1200))`)
	}
	open := func(preference string) *tab {
		tb := b.be("alice", homeLat, homeLng,
			command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: countDots}),
			command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: preference}}}))
		tb.shows("bob")
		return tb
	}
	require.LessOrEqual(t, frames(open("reduce")), 2)
	glides, most := open("no-preference"), 0
	for tries := 0; tries < 5 && most <= 5; tries++ { // a busy machine may have no time for more
		most = max(most, frames(glides))
	}
	require.Greater(t, most, 5)
}
