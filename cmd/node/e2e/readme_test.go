package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testrun:needs curl
// testrun:needs node

// fenced returns the blocks of README.md in a language.
func fenced(t *testing.T, language string) (blocks []string) {
	text, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// shell runs a script and returns what it wrote.
func shell(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	return string(out)
}

// TestE8_ReadmesCallsWork runs the calls of README.md as they are written, but
// for the address and the tokens.
func TestE8_ReadmesCallsWork(t *testing.T) {
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") == "" {
			t.Skipf("%s is needed to run what README.md says", tool)
		}
	}
	s := serve(t)
	s.befriend("alice", "bob")
	env := []string{"ALICE=" + token(t, "alice", time.Hour), "BOB=" + token(t, "bob", time.Hour)}
	placeholder := regexp.MustCompile(`(?m)^(ALICE|BOB)=.*\n`)
	run := 0
	for _, block := range fenced(t, "sh") {
		if !strings.Contains(block, "curl") || strings.Contains(block, "npx") {
			continue
		}
		run++
		out := shell(t, t.TempDir(), strings.ReplaceAll(placeholder.ReplaceAllString(block, ""), "http://127.0.0.1:8080", s.http), env...)
		require.Contains(t, out, `{"accepted":1,"refused":[]}`)
		if strings.Contains(block, "/v1/nearby") {
			require.Eventually(t, func() bool {
				return strings.Contains(shell(t, t.TempDir(), `curl -sS `+s.http+`/v1/nearby -H "Authorization: Bearer $ALICE"`, env...), `"user":"bob"`)
			}, 5*time.Second, 50*time.Millisecond)
		}
	}
	require.Equal(t, 2, run, "blocks with calls in README.md")
}

// TestE8_ReadmesClientWorks runs the client of README.md under Node.js.
func TestE8_ReadmesClientWorks(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil && os.Getenv("CI") == "" {
		t.Skip("Node.js is needed to run the client of README.md")
	}
	s := serve(t)
	s.befriend("alice", "bob")
	blocks := fenced(t, "js")
	require.Len(t, blocks, 1)
	file := filepath.Join(t.TempDir(), "friends.mjs")
	require.NoError(t, os.WriteFile(file, []byte(blocks[0]), 0o600))
	// Node.js 20 has WebSocket behind this flag; later ones take the flag too.
	cmd := exec.CommandContext(t.Context(), "node", "--experimental-websocket", file, "ws"+strings.TrimPrefix(s.http, "http")+"/v1/ws", token(t, "alice", time.Hour))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `"type":"connected","user":"alice"`)
}

// TestE8_ReadmesConfigurationIsGood does what README.md says to run it for real,
// up to the start.
func TestE8_ReadmesConfigurationIsGood(t *testing.T) {
	for _, block := range fenced(t, "sh") {
		if !strings.Contains(block, "config check") {
			continue
		}
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(filepath.Join(dir, "configs"), os.DirFS("../../../configs")))
		require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
		require.NoError(t, os.Symlink(kith, filepath.Join(dir, "bin", "kith")))
		block = strings.ReplaceAll(strings.ReplaceAll(block, "make build\n", ""), "bin/kith serve --config kith.yaml\n", "")
		for i := 1; strings.Contains(block, "$(openssl"); i++ { // each gives another
			block = strings.Replace(block, "$(openssl rand -hex 32)", fmt.Sprintf("%064x", i), 1)
		}
		shell(t, dir, block)
		return
	}
	t.Fatal("README.md does not say how to run a node")
}
