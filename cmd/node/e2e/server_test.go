package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	secret = "a secret of the end-to-end tests"
	apiKey = "an operator of the tests"
)

// server is a `kith serve` process, with its data. It may be stopped and
// started again on the same data and ports.
type server struct {
	t        testing.TB
	dir      string
	settings []string // key=value

	cmd   *exec.Cmd
	over  chan error // gets what Wait returned, once
	log   *transcript
	http  string // http://HOST:PORT of the public port
	admin string
}

// transcript keeps the end of what a process writes, and hands out its lines.
type transcript struct {
	mu    sync.Mutex
	text  []byte
	lines chan string
}

const keptLog = 64 << 10

func (l *transcript) follow(r io.Reader) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		l.mu.Lock()
		l.text = append(append(l.text, in.Bytes()...), '\n')
		if len(l.text) > keptLog {
			l.text = bytes.Clone(l.text[len(l.text)-keptLog/2:])
		}
		l.mu.Unlock()
		select {
		case l.lines <- in.Text():
		default: // nobody waits for lines any more
		}
	}
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// serve starts a node with these settings, key=value each, besides those that
// all tests have. It is ended with the test.
func serve(t testing.TB, settings ...string) *server {
	t.Helper()
	s := prepare(t, settings...)
	s.start()
	return s
}

// prepare is serve without the start.
func prepare(t testing.TB, settings ...string) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir(), settings: settings, http: "http://127.0.0.1:0", admin: "http://127.0.0.1:0"}
	yaml := fmt.Sprintf("node: {data: data}\nauth: {hs256_secret: %q, api_keys: [%q], auto_create: true}\n"+
		"gateway: {fixes_per_s: 1000}\npresence: {max_speed_mps: 0}\n", secret, apiKey)
	require.NoError(t, os.WriteFile(s.file(), []byte(yaml), 0o600))
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
	})
	return s
}

func (s *server) file() string { return filepath.Join(s.dir, "kith.yaml") }

// args are the arguments that make a command of kith use this node's settings.
func (s *server) args(command ...string) []string {
	args := append(command, "--config", s.file(),
		"--set", "node.listen="+strings.TrimPrefix(s.http, "http://"),
		"--set", "node.admin="+strings.TrimPrefix(s.admin, "http://"))
	for _, kv := range s.settings {
		args = append(args, "--set", kv)
	}
	return args
}

// environment is that of the tests without what would be settings of kith, and
// without the tests' own KITH_SOAK and KITH_KILL_ROUNDS, which it would refuse.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "KITH_") })
}

// run runs a command of kith with this node's settings to its end.
func (s *server) run(command ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kith, s.args(command...)...)
	cmd.Dir, cmd.Env = s.dir, environment()
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "kith %s: %s", strings.Join(command, " "), out)
	return string(out)
}

// launch starts the process and does not wait for it to serve.
func (s *server) launch() {
	s.t.Helper()
	s.cmd = exec.Command(kith, s.args("serve")...)
	s.cmd.Dir, s.cmd.Env = s.dir, environment()
	stderr, err := s.cmd.StderrPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, s.cmd.Start())
	cmd, log, over := s.cmd, &transcript{lines: make(chan string, 64)}, make(chan error, 1)
	s.log, s.over = log, over
	go func() {
		log.follow(stderr)
		over <- cmd.Wait()
	}()
}

// start starts the process and waits until it serves.
func (s *server) start() {
	s.t.Helper()
	s.launch()
	deadline := time.After(patience)
	for {
		select {
		case line := <-s.log.lines:
			var said struct{ Msg, Public, Admin string }
			if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving" {
				s.http, s.admin = said.Public, said.Admin
				return
			}
		case err := <-s.over:
			s.cmd = nil
			s.t.Fatalf("the node ended: %v\n%s", err, s.log)
		case <-deadline:
			s.t.Fatalf("the node does not serve:\n%s", s.log)
		}
	}
}

// kill ends the process with SIGKILL and waits for its end. It reports whether
// that is what ended it.
func (s *server) kill() bool {
	_ = s.cmd.Process.Kill()
	<-s.over
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	s.cmd = nil
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// signal sends a signal; exit waits for what follows.
func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(sig))
}

// exit waits for the end of the process and returns its exit code.
func (s *server) exit(within time.Duration) int {
	s.t.Helper()
	select {
	case <-s.over:
		code := s.cmd.ProcessState.ExitCode()
		s.cmd = nil
		return code
	case <-time.After(within):
		s.t.Fatalf("the node still runs %v later:\n%s", within, s.log)
		return 0
	}
}

// alive fails the test if the process has ended.
func (s *server) alive() {
	s.t.Helper()
	select {
	case err := <-s.over:
		s.over <- err
		s.t.Fatalf("the node has ended: %v\n%s", err, s.log)
	default:
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }
