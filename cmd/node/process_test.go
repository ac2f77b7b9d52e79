package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/sdk/go/kith"
	"github.com/kith-nearby/kith/store"
)

// process is a kith process under test.
type process struct {
	*exec.Cmd
	log  *syncBuffer
	over chan error
}

// freePort is an address that was free a moment ago.
func freePort(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

func startServe(t *testing.T, file string) *process {
	p := &process{Cmd: exec.Command("kith", "serve", "--config", file), log: &syncBuffer{}, over: make(chan error, 1)}
	p.Stderr = p.log
	require.NoError(t, p.Start())
	go func() { p.over <- p.Wait() }()
	t.Cleanup(func() { _ = p.Process.Kill() })
	require.Eventually(t, func() bool { return bytes.Contains([]byte(p.log.String()), []byte(`"msg":"serving"`)) }, patience, poll, "%s", p.log)
	return p
}

// exit waits for the end of the process and returns its exit code.
func (p *process) exit(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.over:
		return p.ProcessState.ExitCode()
	case <-time.After(within):
		t.Fatalf("the process goes on:\n%s", p.log)
		return 0
	}
}

// crowd is clients that send fixes until they are told to stop.
type crowd struct {
	tw      *town
	clients []*kith.Client
	hang    context.CancelFunc
	over    chan struct{}
}

func (tw *town) crowd(n int, every time.Duration) *crowd {
	ctx, cancel := context.WithCancel(context.Background())
	c := &crowd{tw: tw, hang: cancel, over: make(chan struct{}, 2*n)}
	tw.t.Cleanup(func() {
		cancel()
		for range 2 * n {
			<-c.over
		}
	})
	for i := range n {
		user := fmt.Sprintf("user%d", i)
		p := kith.New(kith.Options{
			URL:   "ws://" + tw.cfg.Node.Listen + "/v1/ws",
			Token: func(context.Context) (string, error) { return tw.token(user), nil }, PerS: 1000,
		})
		c.clients = append(c.clients, p)
		go func() {
			_ = p.Run(ctx)
			c.over <- struct{}{}
		}()
		go func() {
			defer func() { c.over <- struct{}{} }()
			tick := time.NewTicker(every)
			defer tick.Stop()
			for k := 0; k < 200; k++ {
				_, _ = p.Fix(kith.Fix{Lat: 52.5, Lng: 13.4})
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return c
}

func (c *crowd) acked() (all uint64) {
	for _, p := range c.clients {
		all += p.Stats().Acked
	}
	return all
}

// history counts the rows of each user in the store, and fails on doubles.
func (tw *town) history(user presence.PublicID) int {
	db, err := openStore(context.Background(), &tw.cfg, slog.New(slog.DiscardHandler))
	require.NoError(tw.t, err)
	defer db.Close()
	u, err := db.User(context.Background(), user)
	require.NoError(tw.t, err)
	page, err := db.Query(context.Background(), store.HistoryQuery{User: u.ID, Limit: 10_000})
	require.NoError(tw.t, err)
	seen := map[uint64]bool{}
	for _, row := range page.Rows {
		require.False(tw.t, seen[row.Fix.Seq], "%s has fix %d twice", user, row.Fix.Seq)
		seen[row.Fix.Seq] = true
	}
	return len(page.Rows)
}

// stoppedTown is the configuration of a node that runs as a process.
func stoppedTown(t *testing.T) (*town, string) {
	tw := &town{t: t, cfg: testConfig(t)}
	tw.cfg.Node.Listen, tw.cfg.Node.Admin = freePort(t), freePort(t)
	var err error
	tw.auth, err = newAuth(&tw.cfg)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kith.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil,
		"node: {listen: %q, admin: %q, data: %q, drain_within: 5s}\nauth: {hs256_secret: %s, auto_create: true}\ngateway: {fixes_per_s: 1000}\npresence: {max_speed_mps: 0}\n",
		tw.cfg.Node.Listen, tw.cfg.Node.Admin, tw.cfg.Node.Data, secret32), 0o600))
	return tw, file
}

// TestProcess_SIGTERMLosesNothing ends a node under load, and starts it again: what
// was acknowledged before is there, and the clients' own copies bring the rest.
func TestProcess_SIGTERMLosesNothing(t *testing.T) {
	tw, file := stoppedTown(t)
	first := startServe(t, file)
	c := tw.crowd(5, 10*time.Millisecond)
	require.Eventually(t, func() bool { return c.acked() > 100 }, patience, poll)
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitOK, first.exit(t, tw.cfg.Node.DrainWithin+time.Second), "%s", first.log)

	second := startServe(t, file)
	for _, p := range c.clients {
		require.Eventually(t, func() bool { s := p.Stats(); return s.Acked == 200 && s.Pending == 0 }, 2*patience, poll)
	}
	require.NoError(t, second.Process.Signal(syscall.SIGINT))
	require.Equal(t, exitOK, second.exit(t, tw.cfg.Node.DrainWithin+time.Second), "%s", second.log)
	for i := range c.clients {
		require.Equal(t, 200, tw.history(presence.PublicID(fmt.Sprintf("user%d", i))))
	}
	for _, p := range []*process{first, second} {
		require.NotContains(t, p.log.String(), "52.5")
		require.NotContains(t, p.log.String(), secret32)
	}
}

func TestProcess_SIGKILLKeepsWhatWasAcknowledged(t *testing.T) {
	tw, file := stoppedTown(t)
	p := startServe(t, file)
	c := tw.crowd(3, 5*time.Millisecond)
	require.Eventually(t, func() bool { return c.acked() > 100 }, patience, poll)
	require.NoError(t, p.Process.Kill())
	require.Equal(t, -1, p.exit(t, patience))
	for i, one := range c.clients {
		acked := int(one.Stats().Acked)
		require.GreaterOrEqual(t, tw.history(presence.PublicID(fmt.Sprintf("user%d", i))), acked)
	}
}

func TestProcess_ASecondSignalEndsItAtOnce(t *testing.T) {
	tw, file := stoppedTown(t)
	p := startServe(t, file)
	c := tw.crowd(20, time.Second) // a drain of so many takes a while
	require.Eventually(t, func() bool { return c.acked() >= 20 }, patience, poll)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return bytes.Contains([]byte(p.log.String()), []byte(`"msg":"draining"`)) }, patience, poll)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	began := time.Now()
	require.Equal(t, exitFailed, p.exit(t, patience))
	require.Less(t, time.Since(began), forcedExit)
	require.Contains(t, p.log.String(), "ended at once by a second signal")
	require.Equal(t, 1, tw.history("user0"))
}

func TestProcess_ADrainThatIsForcedEndsItAtOnce(t *testing.T) {
	tw, file := stoppedTown(t)
	p := startServe(t, file)
	c := tw.crowd(20, time.Second)
	require.Eventually(t, func() bool { return c.acked() >= 20 }, patience, poll)
	began := time.Now()
	said, err := exec.Command("kith", "drain", "--force", "--config", file).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "drained: the node has ended")
	require.Equal(t, exitFailed, p.exit(t, patience))
	require.Less(t, time.Since(began), forcedExit)
	require.Contains(t, p.log.String(), "ended at once, as asked on the admin port")
	require.Equal(t, 1, tw.history("user0"))
}
