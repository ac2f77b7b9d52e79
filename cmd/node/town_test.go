package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/cmd/node/config"
	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/sdk/go/kith"
)

// Tests over real sockets poll, since other processes take their own time.
const (
	patience = 15 * time.Second
	poll     = 5 * time.Millisecond
	testKey  = "operator-key-of-the-tests"
	secret32 = "secret-of-the-tests-with-32-bytes"
)

// town is a node over real sockets, and people who use it.
type town struct {
	t    *testing.T
	cfg  config.Config
	node *Node
	log  *syncBuffer
	auth *gateway.Auth
	url  string
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func testConfig(t *testing.T) config.Config {
	cfg := config.Default()
	cfg.Node.Listen, cfg.Node.Admin, cfg.Node.Data = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	cfg.Node.DrainWithin = 5 * time.Second
	cfg.Auth.HS256Secret, cfg.Auth.APIKeys, cfg.Auth.AutoCreate = secret32, []config.Secret{testKey}, true
	cfg.Presence.OfflineGrace, cfg.Presence.MaxSpeedMPS = 300*time.Millisecond, 0
	return cfg
}

func newTown(t *testing.T, change func(*config.Config)) *town {
	t.Helper()
	tw := &town{t: t, cfg: testConfig(t), log: &syncBuffer{}}
	if change != nil {
		change(&tw.cfg)
	}
	var err error
	tw.auth, err = newAuth(&tw.cfg)
	require.NoError(t, err)
	tw.open()
	t.Cleanup(func() {
		tw.close()
		require.NotContains(t, tw.log.String(), "52.5", "positions are in no log")
		require.NotContains(t, tw.log.String(), secret32)
	})
	return tw
}

func (tw *town) open() {
	// Without the time of each line, which has 52.5 in it now and then.
	timeless := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(slog.NewJSONHandler(tw.log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: timeless}))
	n, err := Open(tw.t.Context(), tw.cfg, nodeOptions{Log: log})
	require.NoError(tw.t, err)
	tw.node, tw.url = n, n.PublicURL()
}

func (tw *town) close() {
	ctx, cancel := context.WithTimeout(context.Background(), tw.cfg.Node.DrainWithin)
	defer cancel()
	require.NoError(tw.t, tw.node.Close(ctx))
}

func (tw *town) token(user string) string {
	token, err := tw.auth.Issue(presence.PublicID(user), time.Hour, time.Now())
	require.NoError(tw.t, err)
	return token
}

// befriend makes users of the names and friends of every two of them.
func (tw *town) befriend(users ...string) {
	for _, a := range users {
		tw.operator(http.MethodPut, "/v1/users/"+a, nil)
	}
	for i, a := range users {
		for _, b := range users[:i] {
			tw.operator(http.MethodPut, "/v1/users/"+a+"/friends/"+b, nil)
		}
	}
}

func (tw *town) operator(method, path string, body any) (status int, answer string) {
	return tw.call(method, path, testKey, body)
}

func (tw *town) call(method, path, bearer string, body any) (status int, answer string) {
	tw.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(tw.t, err)
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(tw.t.Context(), method, tw.url+path, in)
	require.NoError(tw.t, err)
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	require.NoError(tw.t, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	require.NoError(tw.t, err)
	return resp.StatusCode, string(out)
}

// person is one device of a user, with what it has seen.
type person struct {
	*kith.Client
	t    *testing.T
	hang context.CancelFunc
	over chan error

	mu      sync.Mutex
	seen    []string // "near bob", "gone bob away", "requested bob"…
	ended   []error  // of connections
	entered map[string]int
}

func (tw *town) person(user, device string) *person {
	tw.t.Helper()
	p := &person{t: tw.t, over: make(chan error, 1), entered: map[string]int{}}
	note := func(format string, args ...any) {
		p.seen = append(p.seen, fmt.Sprintf(format, args...))
	}
	connected := make(chan struct{}, 1)
	p.Client = kith.New(kith.Options{
		URL: "ws" + strings.TrimPrefix(tw.url, "http") + "/v1/ws", Device: device,
		Token: func(context.Context) (string, error) { return tw.token(user), nil },
		OnConnected: func(kith.Connected) {
			select {
			case connected <- struct{}{}:
			default:
			}
		},
		OnFriends: func(m kith.Friends) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, n := range m.Near {
				if n.Entered {
					p.entered[n.User]++
					note("near %s", n.User)
				}
			}
			for _, g := range m.Gone {
				note("gone %s %s", g.User, g.Reason)
			}
		},
		OnNotice: func(n kith.Notice) {
			p.mu.Lock()
			defer p.mu.Unlock()
			note("%s %s", n.Op, n.User)
		},
		OnClosed: func(err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.ended = append(p.ended, err)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	p.hang = cancel
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.over <- p.Run(ctx)
	}()
	tw.t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case <-connected:
	case <-time.After(patience):
		tw.t.Fatalf("%s cannot connect: %v", user, p.ended)
	}
	return p
}

// leave closes the connection and waits until it is closed.
func (p *person) leave() {
	p.hang()
	p.over <- <-p.over
}

// at sends a position, metres north of a place in Berlin, and waits for its ack.
func (p *person) at(metres float64) {
	p.t.Helper()
	_, err := p.Fix(kith.Fix{Lat: 52.5 + metres/111_195, Lng: 13.4})
	require.NoError(p.t, err)
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	require.NoError(p.t, p.Flush(ctx))
}

// sees waits until this happened, and forgets it and all before.
func (p *person) sees(what string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, s := range p.seen {
			if s == what {
				p.seen = p.seen[i+1:]
				return true
			}
		}
		return false
	}, patience, poll, "%s; has seen %v", what, p.has())
}

// has is what happened since it was last asked for.
func (p *person) has() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.seen...)
}

// seesAt waits until user is in the view, about so many metres away.
func (p *person) seesAt(user string, metres float64) kith.Friend {
	p.t.Helper()
	var f kith.Friend
	require.Eventually(p.t, func() bool {
		var ok bool
		f, ok = p.View()[user]
		return ok && f.DistanceM > metres-2 && f.DistanceM < metres+2
	}, patience, poll)
	return f
}
