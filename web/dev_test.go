package web

import (
	"bufio"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// dev starts `kith dev` and returns where its map is.
func dev(t *testing.T, args ...string) string {
	t.Helper()
	long(t)
	bin, err := kith()
	require.NoError(t, err)
	cmd := exec.Command(bin, append([]string{"dev", "--node.listen", "127.0.0.1:0", "--node.admin", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	found, over := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(over)
		at := regexp.MustCompile(`^\s+map\s+(http://[^/\s]+)`)
		for in := bufio.NewScanner(out); in.Scan(); {
			if m := at.FindStringSubmatch(in.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		killed := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		<-over
		_ = cmd.Wait()
		require.True(t, killed.Stop(), "kith dev did not end by itself")
	})
	select {
	case url := <-found:
		return url
	case <-over:
		t.Fatal("kith dev has ended")
	case <-time.After(patience):
		t.Fatal("kith dev does not say where its map is")
	}
	return ""
}

// The first two minutes of a newcomer: kith dev, two tabs, everybody moves.
func TestDev(t *testing.T) {
	b := openBrowser(t, dev(t))
	tb := b.open(b.origin, chromedp.EmulateViewport(1280, 800), scheme("light"))
	tb.until("offers people", `document.querySelectorAll(".personas button").length >= 2`)
	tb.capture("dev-who")
	tb.run(chromedp.Click(chromedp.CSS(".personas li:first-child button")))
	tb.until("shows friends", `document.querySelectorAll(".rows .row").length >= 3`)
	const places = `[...document.querySelectorAll(".rows .row .far b")].map((e) => e.textContent).join()`
	before := eval[string](tb, places)
	tb.until("sees them move", places+" !== "+quote(before))

	// The button opens the second person in a tab of its own; the two see each other.
	require.Regexp(t, `^/#user=[a-z]+$`, eval[string](tb, `document.querySelector(".foot a").getAttribute("href")`))
	require.Equal(t, "", eval[string](tb, `location.hash.split("token=")[1] ?? ""`), "the token stands in the address")
	me := "alice" // the first
	require.Equal(t, "Alice", eval[string](tb, `document.querySelector(".self .name").textContent`))
	other := eval[string](tb, `document.querySelector(".foot a").hash.split("=")[1]`)
	second := b.open(b.origin + eval[string](tb, `document.querySelector(".foot a").getAttribute("href")`))
	second.until("is connected", connected)
	second.shows(me)
	tb.shows(other)
	tb.until("has come to rest", `new Promise((done) => setTimeout(() => done(true), 2500))`)
	tb.capture("dev")
}
