package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
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
