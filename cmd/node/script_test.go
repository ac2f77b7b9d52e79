package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// TestScripts runs the command line. Each script has a kith.yaml with free ports.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			public, admin := freePort(t), freePort(t)
			env.Setenv("PUBLIC", public)
			return os.WriteFile(filepath.Join(env.WorkDir, "kith.yaml"), fmt.Appendf(nil,
				"node: {listen: %q, admin: %q, data: data}\nauth: {hs256_secret: %s, api_keys: [%s], auto_create: true}\ngateway: {fixes_per_s: 1000, max_frame_bytes: 65536}\npresence: {max_speed_mps: 0}\n",
				public, admin, secret32, testKey), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":  exitCode,
			"ready": waitReady,
		},
	})
}

// exitCode runs a command that must end with a code: code 2 kith …
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("%v ended with %d, not %s", args[1:], got, args[0])
	}
}

// waitReady waits until the node of kith.yaml is ready.
func waitReady(ts *testscript.TestScript, _ bool, _ []string) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		resp, err := http.Get("http://" + ts.Getenv("PUBLIC") + "/readyz")
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			http.DefaultClient.CloseIdleConnections()
			return
		}
	}
	ts.Fatalf("the node does not become ready")
}

var exampleLine = regexp.MustCompile(`(?m)^ +(kith .+)$`)

// examples lists the examples of every command's help.
func examples(t *testing.T) []string {
	parser, err := newParser(&console{out: os.Stdout, err: os.Stderr})
	require.NoError(t, err)
	var all []string
	for _, leaf := range parser.Model.Leaves(true) {
		help := leaf.Target.Addr().Interface().(kong.HelpProvider).Help()
		found := exampleLine.FindAllStringSubmatch(help, -1)
		require.NotEmpty(t, found, "%s has no example", leaf.FullPath())
		for _, m := range found {
			require.True(t, strings.HasPrefix(m[1], leaf.FullPath()), m[1])
			all = append(all, m[1])
		}
	}
	return all
}

// TestExamplesAreRun looks for every example of every help text in the scripts;
// those of kith dev are run by TestDev.
func TestExamplesAreRun(t *testing.T) {
	var scripts strings.Builder
	require.NoError(t, filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		scripts.Write(text)
		return err
	}))
	for _, example := range examples(t) {
		if strings.HasPrefix(example, "kith dev") {
			continue
		}
		re := regexp.MustCompile(`(?m)^exec ` + regexp.QuoteMeta(example) + `( &\w+&)?$`)
		require.Regexp(t, re, scripts.String(), "no script runs this example")
	}
}

// TestDev runs the examples of kith dev, and what it prints to try.
func TestDev(t *testing.T) {
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is needed to run what kith dev prints", tool)
		}
	}
	n := 0
	for _, example := range examples(t) {
		if !strings.HasPrefix(example, "kith dev") {
			continue
		}
		n++
		t.Run(example, func(t *testing.T) {
			tmp := t.TempDir()
			args := strings.Fields(example)
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
			said := &syncBuffer{}
			cmd.Stderr = said
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			defer func() { _ = cmd.Process.Kill() }()
			script := tryLines(bufio.NewScanner(out))
			require.NotEmpty(t, script, "%s", said)

			answer, err := exec.Command("sh", "-ec", script).CombinedOutput()
			require.NoError(t, err, "%s", answer)
			require.Equal(t, 2, strings.Count(string(answer), `{"accepted":1,"refused":[]}`), "%s", answer)
			radius := 8047.0
			if strings.Contains(example, "radius_m 500") {
				radius = 500
			}
			require.Equal(t, radius > 593.7, strings.Contains(string(answer), `{"near":[{"user":"bob"`), "%s", answer)

			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			require.NoError(t, cmd.Wait(), "%s", said)
			left, err := os.ReadDir(tmp)
			require.NoError(t, err)
			require.Empty(t, left, "its data is gone")
		})
	}
	require.Positive(t, n)
}

// tryLines returns the commands that kith dev prints: from the first curl to the
// empty line after them.
func tryLines(in *bufio.Scanner) string {
	var script strings.Builder
	for in.Scan() {
		switch line := in.Text(); {
		case line == "" && script.Len() > 0:
			return script.String()
		case script.Len() > 0 || strings.HasPrefix(line, "curl"):
			script.WriteString(line + "\n")
		}
	}
	return script.String()
}

func TestDevKeepsToItself(t *testing.T) {
	for _, args := range [][]string{
		{"dev", "--node.listen", "0.0.0.0:0"},
		{"dev", "--node.admin", ":0"},
		{"dev", "--store.url", "sqlite:here.db"},
		{"dev", "--node.data", t.TempDir()},
	} {
		var out, said strings.Builder
		require.Equal(t, exitUsage, run(args, &console{out: &out, err: &said, now: time.Now}))
		require.Contains(t, said.String(), "use kith serve")
		require.Empty(t, out.String())
	}
}
