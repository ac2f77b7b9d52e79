package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// testrun:needs chromium
// testrun:needs node
// testrun:needs npm

// browser is a headless Chromium of one test. There is one at a time: tests with
// a browser are not parallel.
type browser struct {
	t      *testing.T
	ctx    context.Context
	origin string // where its tabs begin

	mu      sync.Mutex
	allowed map[string]bool // hosts that its tabs may ask
	faults  []string        // errors on the console, requests to elsewhere
	// calm: what the console says is expected, as while the node is down.
	calm bool
}

// long skips a test that takes its time under -short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("nodes and browsers take their time; left out with -short")
	}
}

// openBrowser starts Chromium, or skips the test where there is none. In CI
// there must be one.
func openBrowser(t *testing.T, origin string) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		const none = "there is no Chromium here: install Debian's package chromium to run the tests of the page"
		require.Empty(t, os.Getenv("CI"), none)
		t.Skip(none)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // tests may run as root
		chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.WindowSize(1280, 800),
	)
	alloc, endAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, end := chromedp.NewContext(alloc)
	require.NoError(t, chromedp.Do(ctx), "Chromium does not start")
	b := &browser{t: t, ctx: ctx, origin: origin, allowed: map[string]bool{}}
	b.allow(origin)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for its end
		end()
		endAlloc()
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.faults, "what the browser complained about")
	})
	return b
}

func (b *browser) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// whileDown runs fn, while requests and sockets may fail.
func (b *browser) whileDown(fn func()) {
	b.mu.Lock()
	b.calm = true
	b.mu.Unlock()
	fn()
	b.mu.Lock()
	b.calm = false
	b.mu.Unlock()
}

// allow lets tabs ask another host than that of their first page.
func (b *browser) allow(origin string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed[strings.TrimPrefix(origin, "http://")] = true
}

// watch notes what must not happen: W1, and errors on the console.
func (b *browser) watch(ev any) {
	b.mu.Lock()
	calm := b.calm
	b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.local(ev.Request.URL)
	case *network.EventWebSocketCreated:
		b.local(ev.URL)
	case *runtime.EventExceptionThrown:
		text := ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			text += " " + e.Description
		}
		b.fault("exception: %s", text)
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.ConsoleAPICalledTypeError && !calm {
			b.fault("console: %v", ev.Args)
		}
	case *cdplog.EventEntryAdded:
		if ev.Entry.Level == cdplog.EntryLevelError && !calm {
			b.fault("console: %s (%s)", ev.Entry.Text, ev.Entry.URL)
		}
	}
}

func (b *browser) local(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "data" || u.Scheme == "about" {
		return
	}
	b.mu.Lock()
	allowed := b.allowed[u.Host]
	b.mu.Unlock()
	if !allowed {
		b.fault("a request to %s", address)
	}
}

// step is something to do in a tab.
type step = chromedp.Action[chromedp.Void]

// command is a command of the DevTools protocol as a step.
func command[P, R any](cmd cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cmd, params)
		return err
	})
}

// tab is one tab, in a window of its own, so that it is never in the background.
type tab struct {
	t   *testing.T
	b   *browser
	ctx context.Context
}

// open opens an address in a new tab, after actions.
func (b *browser) open(address string, actions ...step) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	tb := &tab{t: b.t, b: b, ctx: ctx}
	require.NoError(b.t, chromedp.Do(ctx)) // the tab lives as long as this context
	require.NoError(b.t, chromedp.Listen(ctx, b.watch))
	tb.run(command(network.Enable, network.EnableParams{}), command(cdplog.Enable, cdp.Empty{}))
	tb.run(actions...)
	tb.run(chromedp.Navigate(address))
	return tb
}

// be opens the page as a user whose pin stands at a place.
func (b *browser) be(user string, lat, lng float64, actions ...step) *tab {
	b.t.Helper()
	return b.beAt(b.origin, user, lat, lng, actions...)
}

func (b *browser) beAt(origin, user string, lat, lng float64, actions ...step) *tab {
	b.t.Helper()
	tb := b.open(fmt.Sprintf("%s/#user=%s&token=%s&lat=%.6f&lng=%.6f", origin, user, token(user, time.Hour), lat, lng), actions...)
	tb.until("is connected", `document.querySelector("#link")?.dataset.state === "open" && document.querySelector("#my-pin") !== null`)
	return tb
}

func (tb *tab) run(actions ...step) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	require.NoError(tb.t, chromedp.Do(ctx, actions...))
}

// eval evaluates an expression, or waits for a promise.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(tb.t, err, expression)
	return v
}

// until waits for an expression, or a promise, to be true, and returns how long that took.
func (tb *tab) until(what, expression string) time.Duration {
	tb.t.Helper()
	began := time.Now()
	for {
		ok := eval[bool](tb, "(async () => Boolean(await ("+expression+")))()")
		took := time.Since(began)
		if ok {
			return took
		}
		if took > patience {
			tb.t.Fatalf("%s: not within %v. The page says:\n%s", what, patience, eval[string](tb, `document.body.innerText`))
		}
		<-time.After(poll)
	}
}

// shows waits until a friend stands in the list of those near.
func (tb *tab) shows(user string) time.Duration {
	tb.t.Helper()
	return tb.until("shows "+user, near(user))
}

// misses waits until a friend is listed as gone for a reason.
func (tb *tab) misses(user, reason string) time.Duration {
	tb.t.Helper()
	return tb.until(user+" is gone: "+reason,
		fmt.Sprintf(`!(%s) && document.querySelector('.gone [data-user="%s"]')?.dataset.reason === %q`, near(user), user, reason))
}

func near(user string) string {
	return fmt.Sprintf(`document.querySelector('.rows:not(.gone) > .row[data-user="%s"]') !== null`, user)
}

// drag takes the pin and moves it by so many pixels, as a hand does.
func (tb *tab) drag(dx, dy float64) {
	tb.t.Helper()
	type point struct{ X, Y float64 }
	at := eval[point](tb, `(() => { const r = document.querySelector("#my-pin").getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 } })()`)
	const steps = 12
	actions := []step{chromedp.MouseEvent("mousePressed", at.X, at.Y, chromedp.ButtonLeft)}
	for i := 1.0; i <= steps; i++ {
		actions = append(actions, chromedp.MouseEvent("mouseMoved", at.X+dx*i/steps, at.Y+dy*i/steps, chromedp.ButtonLeft), chromedp.Sleep(25*time.Millisecond))
	}
	actions = append(actions, chromedp.MouseEvent("mouseReleased", at.X+dx, at.Y+dy, chromedp.ButtonLeft))
	tb.run(actions...)
}

// capture writes a screenshot and returns where.
func (tb *tab) capture(name string) string {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(tb.t, err)
	file := artifact(tb.t, name+".png")
	require.NoError(tb.t, os.WriteFile(file, png, 0o644))
	return file
}

// quote is a string as JavaScript spells it.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string can be encoded
	return string(b)
}
