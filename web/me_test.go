package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// button presses the button with these words.
func (tb *tab) button(words string) {
	tb.t.Helper()
	tb.until("has a button "+words, `document.querySelector("#tab-panel") && [...document.querySelectorAll("button")].some((e) => e.textContent.includes(`+quote(words)+`) && (e.click(), true))`)
}

// fill pastes a text in place of what a field holds.
func (tb *tab) fill(selector, text string) {
	tb.t.Helper()
	tb.run(chromedp.Focus(chromedp.CSS(selector)))
	eval[bool](tb, "(document.activeElement.select(), true)")
	tb.run(command(input.InsertText, input.InsertTextParams{Text: text}))
}

// W6, and what becomes of one person in two tabs.
func TestW6_TokenAndTabs(t *testing.T) {
	n := serve(t)
	b := openBrowser(t, n.url)
	tb := b.open(b.origin)
	tb.until("asks who", `document.querySelector("#token")`)
	paste := func(text string) {
		tb.fill("#token", text)
		tb.run(chromedp.Click(chromedp.CSS("form .primary")))
	}
	paste("not a token")
	tb.until("says what is wrong", `document.querySelector("#token-wrong").textContent.startsWith("This is no token")`)
	paste(token("alice", time.Hour))
	tb.until("is alice", connected+` && document.querySelector(".self .name").textContent === "alice"`)
	for range 2 {
		require.NotContains(t, eval[string](tb, `location.href`), "token")
		tb.run(chromedp.Reload())
		tb.until("is still alice", connected+` && document.querySelector(".self .name").textContent === "alice"`)
	}

	second := b.be("alice", homeLat, homeLng)
	tb.until("says why it ended", `document.querySelector(".banner")?.textContent.includes("opened somewhere else")`)
	tb.run(chromedp.Click(chromedp.CSS(".banner .primary")))
	tb.until("is back", connected)
	second.until("says why it ended", `document.querySelector(".banner")?.textContent.includes("opened somewhere else")`)

	second.run(chromedp.Click(chromedp.CSS("#tab-me")))
	second.button("someone else")
	second.until("asks who", `document.querySelector("#token") && !location.hash`)
}

// A token that the node does not take: the page asks for another, of the same
// person.
func TestTokenRefused(t *testing.T) {
	n := serve(t)
	b := openBrowser(t, n.url)
	wrong := token("alice", time.Hour)
	tb := b.open(fmt.Sprintf("%s/#token=%sAAAA", b.origin, wrong[:len(wrong)-4]))
	tb.until("asks for a token", `document.querySelector(".banner #token")`)
	try := func(text string) {
		tb.fill("#token", text)
		tb.run(chromedp.Click(chromedp.CSS(".banner .primary")))
	}
	try(token("bob", time.Hour))
	tb.until("wants alice's", `document.querySelector("#token-wrong").textContent === "This token is for bob, not for alice."`)
	try(wrong)
	tb.until("is connected", connected)
}

func place(lat, lng, acc float64) step {
	return command(emulation.SetGeolocationOverride, emulation.SetGeolocationOverrideParams{Latitude: &lat, Longitude: &lng, Accuracy: &acc})
}

// The pin follows the browser's geolocation, until it is moved by hand.
func TestFollowsTheDevice(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	b := openBrowser(t, n.url)
	_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
		Permission: &cdpbrowser.PermissionDescriptor{Name: "geolocation"}, Setting: cdpbrowser.PermissionSettingGranted, Origin: b.origin,
	})
	require.NoError(t, err)
	bob := b.be("bob", homeLat, homeLng)
	alice := b.be("alice", homeLat, outLng, place(homeLat+0.01, homeLng, 25))
	alice.run(chromedp.Click(chromedp.CSS("#tab-me")))
	alice.button("Follow this device")
	bob.shows("alice")
	bob.run(chromedp.Click(chromedp.CSS(`[data-user="alice"] button`)))
	bob.until("knows how exact that is", `document.querySelector('[data-user="alice"] .facts')?.textContent.includes("± 25 m")`)
	alice.run(place(homeLat+0.02, homeLng, 25))
	bob.until("sees alice move", `document.querySelector('[data-user="alice"] .far b').textContent === "2.2 km"`)
	alice.drag(0, -80)
	alice.until("no longer follows", `document.querySelector('[aria-pressed="true"]') === null`)
}

// The radius, by the slider and the keyboard.
func TestRadius(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	n.report("bob", fix{Seq: 1, Lat: homeLat + 0.045, Lng: homeLng})
	b := openBrowser(t, n.url)
	alice := b.be("alice", homeLat, homeLng)
	alice.shows("bob")
	alice.run(chromedp.Click(chromedp.CSS("#tab-me")), chromedp.Focus(chromedp.CSS("#radius")))
	alice.press(kb.Home, 1)
	alice.until("sees 500 m", `document.querySelector("label[for=radius] b").textContent === "500 m"`)
	alice.run(chromedp.Click(chromedp.CSS("#tab-near")))
	alice.misses("bob", "away")
	alice.run(chromedp.Click(chromedp.CSS("#tab-me")), chromedp.Focus(chromedp.CSS("#radius")))
	alice.press(kb.End, 1)
	alice.until("sees 50 km", `document.querySelector("label[for=radius] b").textContent === "50 km"`)
	alice.run(chromedp.Click(chromedp.CSS("#tab-near")))
	alice.shows("bob")
}

// Tiles come from where the operator says, and from nowhere else.
func TestTiles(t *testing.T) {
	var asked atomic.Int64
	tiles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"><rect width="256" height="256" fill="#cde"/></svg>`))
	}))
	t.Cleanup(tiles.Close)
	n := serve(t, "ui.tiles_url="+tiles.URL+"/{z}/{x}/{y}.svg", `ui.tiles_attribution=Tiles by <a href="`+tiles.URL+`">us</a>`)
	b := openBrowser(t, n.url)
	b.allow(tiles.URL)
	tb := b.be("alice", homeLat, homeLng, scheme("light"))
	tb.until("shows tiles", `document.querySelectorAll(".leaflet-tile-loaded").length > 4`)
	require.Positive(t, asked.Load())
	require.Equal(t, "Tiles by us", strings.TrimSpace(eval[string](tb, `document.querySelector(".leaflet-control-attribution").textContent`)))
	tb.capture("tiles")
}

// Sharing with an end: the page says what comes after it, and it comes.
func TestShareEnds(t *testing.T) {
	n := serve(t)
	n.befriend("alice", "bob")
	b := openBrowser(t, n.url)
	bob := b.be("bob", homeLat, homeLng)
	alice := b.be("alice", homeLat+0.02, homeLng)
	alice.shows("bob")
	alice.button("bob")
	alice.until("shows sharing", `document.querySelector(".sharing select")`)
	eval[bool](alice, `(() => { const s = document.querySelector(".sharing select"); s.value = "3600000"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	alice.until("says what comes", `/^Until .*, then nothing\.$/.test(document.querySelector(".sharing p").textContent)`)
	eval[bool](alice, `(document.querySelector(".sharing input[value=none]").click(), true)`)
	bob.misses("alice", "hidden")
	alice.misses("bob", "hidden")
	alice.until("says what comes", `/^Until .*, then nothing\.$/.test(document.querySelector(".sharing p").textContent)`)

	// The server has it as the page says.
	var all struct {
		Friends []struct{ Share struct{ Mode, Then string } }
	}
	require.NoError(t, json.Unmarshal(n.call(http.MethodGet, "/v1/users/alice/friends", apiKey, nil), &all))
	require.Len(t, all.Friends, 1)
	require.Equal(t, "none", all.Friends[0].Share.Mode)
	require.Equal(t, "none", all.Friends[0].Share.Then)
}
