package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// walk connects a user and sends a fix a few times a second, walking away from
// home, until the test or the node ends.
func (n *node) walk(user string, metres float64) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ws, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(n.url, "http")+"/v1/ws", nil)
	require.NoError(n.t, err)
	done := make(chan struct{}, 2)
	n.t.Cleanup(func() {
		cancel()
		<-done
		<-done
		_ = ws.CloseNow()
	})
	send := func(m map[string]any) error {
		text, err := json.Marshal(m)
		require.NoError(n.t, err)
		return ws.Write(ctx, websocket.MessageText, text)
	}
	require.NoError(n.t, send(map[string]any{"type": "connect", "token": token(user, time.Hour), "device": "phone"}))
	go func() { // what comes is read, so that the connection goes on
		defer func() { done <- struct{}{} }()
		for {
			if _, _, err := ws.Read(ctx); err != nil {
				return
			}
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for seq := 1; send(map[string]any{"type": "fix", "lat": homeLat + (metres+float64(seq))/111_195, "lng": homeLng, "seq": seq}) == nil; seq++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// card is the value of the card of a title.
func card(title string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".card")].find((c) => c.firstChild.textContent === %q).querySelector(".value").textContent`, title)
}

// row is the text of the row of a table that begins so.
func row(table, first string) string {
	return fmt.Sprintf(`([...document.querySelectorAll("%s tbody tr")].find((r) => r.cells[0].textContent === %q)?.innerText ?? "")`, table, first)
}

// watches traces a user, by keyboard.
func (tb *tab) watches(user string) {
	tb.t.Helper()
	tb.run(chromedp.Focus(chromedp.CSS("#trace-user")), chromedp.KeyEvent(user+"\r"))
	tb.until("watches "+user, fmt.Sprintf(`document.querySelector("#trace-say").textContent.startsWith("Watching %s:")`, user))
}

// crowd lets alice and her friends walk about, and one of them be far away.
func crowd(n *node) {
	for i, name := range people[:6] {
		n.befriend("alice", name)
		n.walk(name, float64(200+300*i))
	}
	n.befriend("alice", "zoe")
	n.walk("zoe", 400_000)
	n.walk("alice", 0)
}

func TestOperator_SeesANodeWork(t *testing.T) {
	n := serve(t)
	b := openBrowser(t, n.admin)
	tb := b.open(n.admin + "/")
	tb.until("is there", `document.querySelector("#state").textContent.includes("serving")`)
	require.Equal(t, "0", eval[string](tb, card("Connections")))
	crowd(n)
	n.call(http.MethodPut, "/v1/users/idler", apiKey, nil)

	tb.until("counts connections", card("Connections")+` === "8"`)
	tb.until("counts fixes", `Number(`+card("Fixes a second")+`) > 5`)
	tb.until("counts deliveries", `Number(`+card("Deliveries owed a second")+`) > 5`)
	tb.until("measures both latencies", card("Fix to disk")+` !== "–" && `+card("Fix to a friend’s socket")+` !== "–"`)
	tb.until("draws", `[...document.querySelectorAll("path.look-0")].every((p) => p.closest(".legend") || p.getAttribute("d").includes("L"))`)
	tb.until("knows states", `document.querySelector("#cards").textContent.includes("100 % live")`)
	tb.until("lists queues", row("#queues", "fixes not on disk")+`.includes("200,000")`)

	// One user, live; a friend stops sharing meanwhile.
	tb.watches("alice")
	tb.until("knows the connection", `/^phone\t.*ago|^phone/.test(`+row("#trace-body table", "phone")+`)`)
	tb.until("knows who is near", row("#trace-body table", "bob")+`.includes("near")`)
	tb.until("knows who is far", row("#trace-body table", "zoe")+`.includes("hundreds of km")`)
	tb.until("notes messages", `["fix", "ack", "friends"].every((m) => document.querySelector("#trace-body").textContent.includes(m))`)
	text := eval[string](tb, `document.body.textContent`)
	for _, secret := range []string{"52.52", "13.405"} {
		require.NotContains(t, text, secret)
	}
	tb.watches("idler")
	tb.until("says that nobody is there", `document.querySelector("#trace-body").textContent.includes("offline") && document.querySelector("#trace-body").textContent.includes("Not connected to this node.")`)
	tb.run(chromedp.Click(chromedp.CSS("#trace-stop")))
	tb.until("stops", `document.querySelector("#trace-say").textContent.startsWith("Stopped")`)
	b.whileDown(func() { // the browser logs a 404 as an error
		tb.run(chromedp.Focus(chromedp.CSS("#trace-user")), chromedp.KeyEvent("nobody\r"))
		tb.until("says that there is none", `document.querySelector("#trace-say").textContent === "There is no user nobody."`)
	})

	// Refusals say what they mean, and link to more.
	ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(n.url, "http")+"/v1/ws", nil)
	require.NoError(t, err)
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"connect","token":"wrong"}`)))
	tb.until("lists the close", row("#closes", "4001")+`.includes("The token is not accepted")`)
	_ = ws.CloseNow()
	require.Equal(t, n.admin+"/operator/codes.html#close-4001", eval[string](tb, `[...document.querySelectorAll("#closes a")].find((a) => a.textContent === "4001").href`))
	codes := b.open(n.admin + "/operator/codes.html#close-4001")
	codes.until("explains it", `document.querySelector(":target")?.textContent === "4001"`)

	// Draining, asked for and confirmed by keyboard.
	tb.run(chromedp.Focus(chromedp.CSS("#drain")), chromedp.KeyEvent("\r"))
	tb.until("asks", `document.querySelector("#drain-dialog").open && document.querySelector("#drain-what").textContent.includes("8 connections")`)
	require.Equal(t, "Cancel", eval[string](tb, `document.activeElement.textContent`))
	tb.run(chromedp.KeyEvent("\r"))
	tb.until("does nothing", `!document.querySelector("#drain-dialog").open && document.querySelector("#drained").hidden`)
	tb.until("goes on", `document.querySelector("#state").textContent.includes("serving")`)
	b.whileDown(func() {
		tb.run(chromedp.Focus(chromedp.CSS("#drain")), chromedp.KeyEvent("\r"), chromedp.KeyEvent("\t\r"))
		tb.until("shows the drain", `document.querySelector("#drained-text").textContent.includes("still to be sent away")`)
		tb.until("shows the end", `document.querySelector("#drained-text").textContent.startsWith("The node has ended") && document.querySelector("#state").textContent.includes("no answer")`)
		require.NoError(t, <-n.over)
		n.cmd = nil
		// It is started again, on the same admin port: the page goes on.
		file := filepath.Join(n.dir, "kith.yaml")
		yaml, err := os.ReadFile(file)
		require.NoError(t, err)
		yaml = bytes.Replace(yaml, []byte("127.0.0.1:0"), []byte(strings.TrimPrefix(n.admin, "http://")), 1)
		require.NoError(t, os.WriteFile(file, yaml, 0o600))
		n.start()
		tb.until("is back", `document.querySelector("#drained").hidden && document.querySelector("#state").textContent.includes("serving") && `+card("Connections")+` === "0"`)
	})
}

// looks are the ways in which the page is looked at.
var operatorLooks = []struct {
	name, scheme  string
	width, height int64
}{
	{"operator-light", "light", 1280, 900},
	{"operator-dark", "dark", 1280, 900},
	{"operator-phone", "light", 390, 844},
	{"operator-phone-dark", "dark", 390, 844},
}

// It has no serious fault of access, and nothing is cut off, in any look.
func TestOperator_Looks(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		const none = "there is no axe-core here: run npm ci in web to look for faults of access"
		require.Empty(t, os.Getenv("CI"), none)
		t.Skip(none)
	}
	n := serve(t)
	crowd(n)
	b := openBrowser(t, n.admin)
	for _, look := range operatorLooks {
		tb := b.open(n.admin+"/", chromedp.EmulateViewport(look.width, look.height), scheme(look.scheme))
		tb.until("has figures", card("Fix to disk")+` !== "–"`)
		tb.watches("alice")
		tb.until("knows friends", row("#trace-body table", "bob")+`.includes("near")`)
		require.True(t, eval[bool](tb, `document.documentElement.scrollWidth <= innerWidth`), "%s: it scrolls sideways", look.name)
		tb.inspect(string(axe), look.name)
		tb.capture(look.name)
		tb.run(chromedp.Click(chromedp.CSS("#drain")))
		tb.inspect(string(axe), look.name+": drain")
		tb.run(chromedp.Navigate(n.admin + "/operator/codes.html"))
		tb.inspect(string(axe), look.name+": codes")
	}
}
