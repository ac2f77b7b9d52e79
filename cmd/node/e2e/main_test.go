package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long anything may take that must happen.
const patience = 30 * time.Second

// kith is the path of the binary under test.
var kith string

// TestMain builds the binary as users do. GOFLAGS=-race builds both it and the
// tests with the race detector.
func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kith-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	kith = filepath.Join(dir, "kith")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", kith, "github.com/kith-nearby/kith/cmd/node")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	caller.CloseIdleConnections()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// long skips a test that takes its time under -short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes its time; left out with -short")
	}
}

// soaking reports whether the long tests are to be really long.
func soaking() bool { return os.Getenv("KITH_SOAK") != "" }

// wait returns after d. It stands where a test must let real time pass: to pace
// what it sends, or to prove that nothing comes.
func wait(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}
