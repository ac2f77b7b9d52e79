package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const (
	secret = "a secret of the tests of the pages"
	apiKey = "an operator of the tests"
	// patience is how long anything may take that must happen.
	patience = 20 * time.Second
	poll     = 20 * time.Millisecond
)

// built is a folder for what the tests build. It ends with them.
var built string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kith-web-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = dir
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// kith builds the binary under test, once. PAGES_BINARY names one that is built
// already.
var kith = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("PAGES_BINARY"); bin != "" {
		return bin, nil
	}
	bin := filepath.Join(built, "kith")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "github.com/kith-nearby/kith/cmd/node").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

// node is a `kith serve` process with its data, which may be stopped and started
// again on the same data and port.
type node struct {
	t        *testing.T
	dir      string
	settings []string
	url      string // http://HOST:PORT of the public port
	admin    string // of the admin port
	cmd      *exec.Cmd
	over     chan error
}

// serve starts a node with these settings, key=value each, besides those that all
// tests have.
func serve(t *testing.T, settings ...string) *node {
	t.Helper()
	long(t)
	n := &node{t: t, dir: t.TempDir(), settings: settings, url: "http://127.0.0.1:0"}
	yaml := fmt.Sprintf("node: {admin: \"127.0.0.1:0\", drain_within: 5s}\nauth: {hs256_secret: %q, api_keys: [%q], auto_create: true}\n"+
		"presence: {offline_grace: 2s}\nlog: {format: json}\n", secret, apiKey)
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "kith.yaml"), []byte(yaml), 0o600))
	t.Cleanup(n.stop)
	n.start()
	return n
}

// start starts the process and waits until it serves.
func (n *node) start() {
	n.t.Helper()
	bin, err := kith()
	require.NoError(n.t, err)
	args := []string{"serve", "--config", "kith.yaml", "--set", "node.data=" + n.dir, "--set", "node.listen=" + strings.TrimPrefix(n.url, "http://")}
	for _, setting := range n.settings {
		args = append(args, "--set", setting)
	}
	n.cmd = exec.Command(bin, args...)
	n.cmd.Dir = n.dir
	stderr, err := n.cmd.StderrPipe()
	require.NoError(n.t, err)
	require.NoError(n.t, n.cmd.Start())
	lines, over, cmd := make(chan string, 64), make(chan error, 1), n.cmd
	n.over = over
	go func() {
		in := bufio.NewScanner(stderr)
		for in.Scan() {
			select {
			case lines <- in.Text():
			default: // nobody waits for lines any more
			}
		}
		over <- cmd.Wait()
	}()
	deadline := time.After(patience)
	var said []string
	for {
		select {
		case line := <-lines:
			said = append(said, line)
			var m struct{ Msg, Public, Admin string }
			if json.Unmarshal([]byte(line), &m) == nil && m.Msg == "serving" {
				n.url, n.admin = m.Public, m.Admin
				return
			}
		case err := <-over:
			n.cmd = nil
			n.t.Fatalf("the node ended: %v\n%s", err, strings.Join(said, "\n"))
		case <-deadline:
			n.t.Fatalf("the node does not serve:\n%s", strings.Join(said, "\n"))
		}
	}
}

// stop ends the process as an operator does.
func (n *node) stop() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.over:
	case <-time.After(patience):
		_ = n.cmd.Process.Kill()
		<-n.over
		n.t.Error("the node did not end by itself")
	}
	n.cmd = nil
}

// call sends a request with a bearer token and returns the answer's body.
func (n *node) call(method, path, bearer string, body any) []byte {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		var b bytes.Buffer
		if body != nil {
			require.NoError(n.t, json.NewEncoder(&b).Encode(body))
		}
		req, err := http.NewRequestWithContext(ctx, method, n.url+path, &b)
		require.NoError(n.t, err)
		req.Header.Set("Authorization", "Bearer "+bearer)
		req.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(req)
		require.NoError(n.t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(n.t, err)
		require.NoError(n.t, answer.Body.Close())
		if answer.StatusCode == http.StatusTooManyRequests { // as a client should
			seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			require.NoError(n.t, err)
			time.Sleep(time.Duration(seconds) * time.Second)
			continue
		}
		require.Less(n.t, answer.StatusCode, 300, "%s %s: %s", method, path, text)
		return text
	}
}

// befriend makes two users, and friends of them.
func (n *node) befriend(a, b string) {
	n.t.Helper()
	for _, user := range []string{a, b} {
		n.call(http.MethodPut, "/v1/users/"+user, apiKey, nil)
	}
	n.call(http.MethodPut, "/v1/users/"+a+"/friends/"+b, apiKey, nil)
}

// fix is a position as the HTTP API takes it.
type fix struct {
	Lat     float64  `json:"lat"`
	Lng     float64  `json:"lng"`
	Seq     int      `json:"seq"`
	Acc     float64  `json:"acc,omitempty"`
	Heading *float64 `json:"heading,omitempty"`
	Speed   *float64 `json:"speed,omitempty"`
	Battery *float64 `json:"battery,omitempty"`
}

// report sends fixes of a user over HTTP.
func (n *node) report(user string, fixes ...fix) {
	n.t.Helper()
	n.call(http.MethodPost, "/v1/fixes", token(user, time.Hour), map[string]any{"fixes": fixes})
}

// token signs a user token (RFC 7519, HS256).
func token(user string, ttl time.Duration) string {
	part := base64.RawURLEncoding.EncodeToString
	claims, _ := json.Marshal(map[string]any{"sub": user, "exp": time.Now().Add(ttl).Unix()})
	text := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part(claims)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(text)) // a hash takes everything
	return text + "." + part(mac.Sum(nil))
}
