package e2e

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testrun:needs curl

// TestE8_Dev starts what `make run` starts, runs the commands that it prints as
// they are printed, and ends it as Ctrl-C does.
func TestE8_Dev(t *testing.T) {
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") == "" {
			t.Skipf("%s is needed to run what kith dev prints", tool)
		}
	}
	tmp := t.TempDir()
	cmd := exec.Command(kith, "dev")
	cmd.Dir, cmd.Env = tmp, append(environment(), "TMPDIR="+tmp)
	said := &transcript{lines: make(chan string)}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, cmd.Start())
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		said.follow(stderr)
	}()
	over := false
	t.Cleanup(func() {
		if !over {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		<-logged
	})

	lines := make(chan string, 256)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			lines <- in.Text()
		}
	}()
	printed := untilScript(t, lines, said)
	t.Logf("it printed what to try after %v", time.Since(began).Round(time.Millisecond))
	require.Less(t, time.Since(began), patience)
	url := regexp.MustCompile(`http://(127\.0\.0\.1|localhost)(:\d+)`).FindString(printed)
	require.NotEmpty(t, url, printed)
	require.Equal(t, http.StatusOK, request(t, http.MethodGet, url+"/readyz", nil, nil).status)

	script := printed[strings.Index(printed, "\ncurl")+1:]
	answers, err := exec.Command("sh", "-ec", script).CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, answers)
	require.Equal(t, 2, strings.Count(string(answers), `"accepted":1,"refused":[]`), "%s", answers)
	require.Contains(t, string(answers), `"user":"bob"`, "alice sees bob")

	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	ended := make(chan error, 1)
	go func() {
		for range lines {
		}
		<-logged
		ended <- cmd.Wait()
	}()
	select {
	case err := <-ended:
		over = true
		require.NoError(t, err, "Ctrl-C exits 0: %s", said)
	case <-time.After(patience):
		t.Fatalf("it goes on after Ctrl-C: %s", said)
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left, "its data is gone")
}

// untilScript gathers what is printed up to the empty line after the commands.
func untilScript(t *testing.T, lines <-chan string, said *transcript) string {
	t.Helper()
	var all strings.Builder
	deadline := time.After(patience)
	for found := false; ; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("it ended: %s%s", all.String(), said)
			}
			if found && line == "" {
				return all.String()
			}
			found = found || strings.HasPrefix(line, "curl ")
			all.WriteString(line + "\n")
		case <-deadline:
			t.Fatalf("no commands to try are printed: %s%s", all.String(), said)
		}
	}
}
