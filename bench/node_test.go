package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kith-nearby/kith/presence"
)

// process is a kith that serves.
type process struct {
	*exec.Cmd
	addr string
	log  bytes.Buffer
}

// kithCommand is a command of kith, without variables of this process that kith
// would take for its own settings.
func kithCommand(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KITH_") })
	return cmd
}

// buildKith builds the program under measurement.
func buildKith(b *testing.B, dir string) string {
	b.Helper()
	path := filepath.Join(dir, "kith")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../cmd/node").CombinedOutput(); err != nil {
		b.Fatalf("build kith: %v\n%s", err, out)
	}
	return path
}

// serveTown starts a node with all friendships of t in its database.
func serveTown(b *testing.B, t *town) *process {
	b.Helper()
	dir := b.TempDir()
	kith := buildKith(b, dir)
	public, admin := freeAddress(b), freeAddress(b)
	config := filepath.Join(dir, "kith.yaml")
	pairs := filepath.Join(dir, "friends.csv")
	settings := fmt.Sprintf(`
node: {name: bench, listen: %q, admin: %q, data: %q}
auth: {hs256_secret: %q}
gateway: {fixes_per_s: 1000}
log: {level: warn, format: json}
`, public, admin, dir, benchSecret)
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(pairs, t.csv(), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := kithCommand(kith, "import", "friends", pairs, "--config", config).CombinedOutput(); err != nil {
		b.Fatalf("import: %v\n%s", err, out)
	}
	p := &process{Cmd: kithCommand(kith, "serve", "--config", config), addr: public}
	p.Stderr = &p.log
	if err := p.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(20*time.Second, func() { _ = p.Process.Kill() })
		defer late.Stop()
		_ = p.Wait()
		if b.Failed() {
			b.Logf("the node said:\n%s", p.log.String())
		}
	})
	p.waitReady(b)
	return p
}

func (p *process) waitReady(b *testing.B) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/readyz", nil)
		if err != nil {
			b.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if ctx.Err() != nil {
			b.Fatal("the node does not become ready")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// csv is all friendships, once each.
func (t *town) csv() []byte {
	out := []byte("a,b\n")
	for i, friends := range t.friends {
		for _, f := range friends {
			if int(f) > i+1 {
				out = fmt.Appendf(out, "%s,%s\n", publicID(presence.UserID(i+1)), publicID(f))
			}
		}
	}
	return out
}

// freeAddress is one that was free a moment ago.
func freeAddress(b *testing.B) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// cpuOf is what a process has used so far.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	var user, system int64
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		b.Fatal(err)
	}
	const tick = time.Second / 100 // USER_HZ
	return time.Duration(user+system) * tick
}
