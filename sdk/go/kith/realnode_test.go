package kith_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain ends the node that examples have used, and looks for goroutines that
// a client has left behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if node.cmd != nil {
		if err := node.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const apiKey = "an operator of the examples"

// process is a `kith serve` process, built from this source.
type process struct {
	url  string // of the WebSocket
	http string
	dir  string
	bin  string
	cmd  *exec.Cmd
	once sync.Once
	err  error
}

var node process

// realNode starts the node, unless it runs, and makes users who are friends.
func realNode(users ...string) *process {
	node.once.Do(func() { node.err = node.start() })
	if node.err != nil {
		panic(node.err) // an Example has no other way to fail
	}
	for i, user := range users {
		node.user(user)
		for _, other := range users[:i] {
			node.put("/v1/users/" + user + "/friends/" + other)
		}
	}
	return &node
}

func (p *process) start() (err error) {
	if p.dir, err = os.MkdirTemp("", "kith-sdk-"); err != nil {
		return err
	}
	p.bin = filepath.Join(p.dir, "kith")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", p.bin, "github.com/kith-nearby/kith/cmd/node").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	yaml := fmt.Sprintf("node: {listen: \"127.0.0.1:0\", admin: \"127.0.0.1:0\", data: data, drain_within: 2s}\n"+
		"auth: {hs256_secret: a secret of the examples of the client, api_keys: [%s]}\nlog: {format: json}\n", apiKey)
	if err := os.WriteFile(filepath.Join(p.dir, "kith.yaml"), []byte(yaml), 0o600); err != nil {
		return err
	}
	p.cmd = exec.Command(p.bin, "serve", "--config", "kith.yaml")
	p.cmd.Dir = p.dir
	said, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	var log bytes.Buffer
	for in := bufio.NewScanner(said); in.Scan(); {
		var line struct{ Msg, Public string }
		log.WriteString(in.Text() + "\n")
		if json.Unmarshal(in.Bytes(), &line) == nil && line.Msg == "serving" {
			p.http, p.url = line.Public, "ws"+strings.TrimPrefix(line.Public, "http")+"/v1/ws"
			return nil
		}
	}
	return fmt.Errorf("the node does not serve:\n%s", log.String())
}

func (p *process) stop() error {
	http.DefaultClient.CloseIdleConnections()
	return errors.Join(p.cmd.Process.Signal(syscall.SIGTERM), p.cmd.Wait(), os.RemoveAll(p.dir))
}

func (p *process) user(user string) { p.put("/v1/users/" + user) }

func (p *process) put(path string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, p.http+path, nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+apiKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= 300 {
		panic(resp.Status)
	}
}

// token is a function for Options.Token, as an own server would answer it.
func (p *process) token(user string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		cmd := exec.CommandContext(ctx, p.bin, "token", user, "--config", "kith.yaml")
		cmd.Dir = p.dir
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
}
