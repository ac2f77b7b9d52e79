package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/cmd/node/sim"
	"github.com/kith-nearby/kith/sdk/go/kith"
)

// trial is a kith dev process.
type trial struct {
	t    *testing.T
	cmd  *exec.Cmd
	said *syncBuffer // stderr
	text string      // what it printed
	at   time.Time   // when
}

func startDev(t *testing.T, args ...string) *trial {
	t.Helper()
	d := &trial{t: t, cmd: exec.Command("kith", append([]string{"dev"}, args...)...), said: &syncBuffer{}}
	d.cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	d.cmd.Stderr = d.said
	out, err := d.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, d.cmd.Start())
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	var text strings.Builder
	for in := bufio.NewScanner(out); in.Scan(); {
		if d.at.IsZero() {
			d.at = time.Now()
		}
		text.WriteString(in.Text() + "\n")
		if strings.Contains(in.Text(), "/v1/nearby") {
			break
		}
	}
	require.False(t, d.at.IsZero(), "%s", d.said)
	d.text = text.String()
	return d
}

// word returns what stands after a name in the first such line.
func (d *trial) word(name string) string {
	d.t.Helper()
	m := regexp.MustCompile(`(?m)^  ` + name + ` +(\S+)$`).FindStringSubmatch(d.text)
	require.NotNil(d.t, m, "%s in %s", name, d.text)
	return m[1]
}

func (d *trial) get(path string, host string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.word("http")+path, nil)
	require.NoError(d.t, err)
	if host != "" {
		req.Host = host
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(d.t, err)
	return resp.StatusCode, string(body)
}

// end sends SIGINT and waits.
func (d *trial) end() {
	d.t.Helper()
	began := time.Now()
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(d.t, d.cmd.Wait(), "%s", d.said)
	require.Less(d.t, time.Since(began), devDrain+forcedExit)
	require.NotContains(d.t, d.said.String(), "people left")
}

// firstMove connects as alice, who is in the middle of the city, and returns how
// long after the first line it was when she saw somebody move.
func (d *trial) firstMove(p persona) time.Duration {
	d.t.Helper()
	var mu sync.Mutex
	at := map[string]kith.Friend{}
	moved := make(chan time.Time, 1)
	c := kith.New(kith.Options{
		URL: d.word("websocket"), Token: func(context.Context) (string, error) { return p.Token, nil },
		OnFriends: func(m kith.Friends) {
			mu.Lock()
			defer mu.Unlock()
			for _, f := range m.Near {
				if before, known := at[f.User]; known && (before.Lat != f.Lat || before.Lng != f.Lng) {
					select {
					case moved <- time.Now():
					default:
					}
				}
				at[f.User] = f
			}
		},
	})
	_, err := c.Fix(kith.Fix{Lat: p.Lat, Lng: p.Lng})
	require.NoError(d.t, err)
	ctx, stop := context.WithCancel(d.t.Context())
	over := make(chan error, 1)
	go func() { over <- c.Run(ctx) }()
	defer func() {
		stop()
		require.NoError(d.t, <-over)
	}()
	select {
	case t := <-moved:
		return t.Sub(d.at)
	case <-time.After(patience):
		d.t.Fatal("nobody moves")
		return 0
	}
}

func (d *trial) personas() []persona {
	d.t.Helper()
	code, body := d.get(personasPath, "")
	require.Equal(d.t, http.StatusOK, code, body)
	var all []persona
	require.NoError(d.t, json.Unmarshal([]byte(body), &all))
	return all
}

// TestDev_TheFirstDotMovesWithinTwoSeconds tries again while the machine is busy
// with other tests.
func TestDev_TheFirstDotMovesWithinTwoSeconds(t *testing.T) {
	var took time.Duration
	for range 5 {
		d := startDev(t)
		took = d.firstMove(d.personas()[0])
		d.end()
		t.Logf("the first dot moved %v after the first line", took.Round(time.Millisecond))
		if took < 2*time.Second {
			return
		}
	}
	t.Fatalf("the first dot moved after %v", took)
}

func TestDev_PersonasAreForThisMachine(t *testing.T) {
	d := startDev(t, "--city", "35.6,139.7", "--people", "20", "--seed", "7")
	all := d.personas()
	require.Len(t, all, 12)
	require.Equal(t, "alice", all[0].User)
	require.Equal(t, "Alice", all[0].Name)
	require.Equal(t, d.word("alice"), all[0].Token)
	require.Equal(t, d.word("bob"), all[1].Token)
	require.InDelta(t, 35.6, all[0].Lat, 1e-3)
	require.Contains(t, d.text, "20 simulated people around 35.6,139.7")
	for _, host := range []string{"localhost", "127.0.0.1:8080", "[::1]:80", "localhost:80"} {
		code, _ := d.get(personasPath, host)
		require.Equal(t, http.StatusOK, code, host)
	}
	code, body := d.get(personasPath, "rebound.example")
	require.Equal(t, http.StatusForbidden, code)
	require.NotContains(t, body, "token")
	code, body = d.get("/", "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "&#34;dev&#34;:true", "the page offers them")
	require.Contains(t, d.text, d.word("http")+"/#user=alice&token="+d.word("alice"))
	d.end()
}

func TestDev_Refuses(t *testing.T) {
	for want, args := range map[string][]string{
		`--city: there is no city "Nowhere"`:  {"dev", "--city", "Nowhere"},
		"--people: 1 people; use 2 to 100000": {"dev", "--people", "1"},
	} {
		var out, said strings.Builder
		require.Equal(t, exitUsage, run(args, &console{out: &out, err: &said, now: time.Now}))
		require.Contains(t, said.String(), want)
	}
}

// TestPages_InServe asks a node that is not for trying.
func TestPages_InServe(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		tw := newTown(t, func(c *config.Config) { c.UI.Enabled = enabled })
		code, body := tw.call(http.MethodGet, "/", "", nil)
		if enabled {
			require.Equal(t, http.StatusOK, code)
			require.Contains(t, body, "<html")
			require.Contains(t, body, `content="{}"`)
		} else {
			require.Equal(t, http.StatusNotFound, code)
		}
		code, _ = tw.call(http.MethodGet, personasPath, "", nil)
		require.Equal(t, http.StatusNotFound, code)
	}
}

func TestDevTown_Names(t *testing.T) {
	berlin, err := sim.FindCity("Berlin")
	require.NoError(t, err)
	town, err := newDevTown(berlin, 200, 1)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, p := range town.personas {
		require.False(t, seen[p.User])
		seen[p.User] = true
	}
	for _, p := range town.people.People {
		require.False(t, seen[p.Name], p.Name)
		seen[p.Name] = true
	}
	friends := map[string]int{}
	for _, pair := range town.pairs {
		friends[string(pair.A)]++
		friends[string(pair.B)]++
	}
	for _, p := range town.personas {
		require.Equal(t, len(devNames)-1+devNear, friends[p.User])
	}
}
