package js

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testrun:needs chromium
// testrun:needs node
// testrun:needs npm

// needNode skips where there is no Node.js; CI must have it.
func needNode(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is not installed: the tests of the JavaScript client need Node.js 20 or later and npm", program)
			}
			t.Skipf("%s is not installed: install Node.js 20 or later for the tests of the JavaScript client", program)
		}
	}
}

// run runs a command here and shows what it wrote if it fails.
func run(t *testing.T, within time.Duration, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", name, args, out)
	t.Logf("%s", out)
}

// install fetches what the tests use, which is not committed.
func install(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/ws"); err != nil {
		run(t, 5*time.Minute, nil, "npm", "ci")
	}
}

// fresh keeps the result out of go's test cache, which does not know what node
// reads: it caches no test that has opened a file of the last two seconds.
func fresh(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		const stamp = "node_modules/.tested"
		require.NoError(t, os.WriteFile(stamp, nil, 0o600))
		_, err := os.ReadFile(stamp)
		require.NoError(t, err)
	})
}

func TestJavaScript(t *testing.T) {
	needNode(t)
	install(t)
	fresh(t)
	unit, err := filepath.Glob("test/unit_*.test.js")
	require.NoError(t, err)
	require.NotEmpty(t, unit)
	run(t, 2*time.Minute, nil, "node", append([]string{"--test", "--test-reporter=spec"}, unit...)...)
}

func TestJavaScript_against_the_node(t *testing.T) {
	if testing.Short() {
		t.Skip("takes its time; left out with -short")
	}
	needNode(t)
	install(t)
	fresh(t)
	kith := filepath.Join(t.TempDir(), "kith")
	run(t, 5*time.Minute, nil, "go", "build", "-buildvcs=false", "-o", kith, "github.com/kith-nearby/kith/cmd/node")
	real, err := filepath.Glob("test/real_*.test.js")
	require.NoError(t, err)
	require.NotEmpty(t, real)
	run(t, 10*time.Minute, []string{"KITH_BIN=" + kith}, "node", append([]string{"--test", "--test-reporter=spec"}, real...)...)
}
