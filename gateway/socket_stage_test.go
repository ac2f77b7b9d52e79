package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// patience is how long a test waits for what must come.
const patience = 5 * time.Second

// stage is a hub with its sockets on a real listener, and fakes behind it.
type stage struct {
	t      testing.TB
	hub    *Hub
	live   *stageLive
	people *stageAccounts
	auth   *Auth
	server *httptest.Server
	ready  *stageReadiness
	reg    *prometheus.Registry
}

func newStage(t testing.TB, change func(*SocketConfig)) *stage {
	t.Helper()
	cfg := DefaultSocketConfig()
	cfg.CloseWithin = 500 * time.Millisecond
	if change != nil {
		change(&cfg)
	}
	s := &stage{t: t, reg: prometheus.NewRegistry(), people: newStageAccounts(), ready: &stageReadiness{}}
	var err error
	s.hub, err = NewHub(cfg, s.reg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s.auth, err = NewAuth(AuthConfig{HS256Secret: "a secret of the test that is long enough", Dev: true})
	require.NoError(t, err)
	s.live = &stageLive{hub: s.hub}
	s.server = httptest.NewServer(NewSockets(s.hub, SocketPorts{Live: s.live, Accounts: s.people, Readiness: s.ready}, s.auth))
	t.Cleanup(func() {
		s.hub.Stop()
		s.server.Close()
	})
	return s
}

func (s *stage) token(user presence.PublicID, ttl time.Duration) string {
	token, err := s.auth.Issue(user, ttl, time.Now())
	require.NoError(s.t, err)
	return token
}

func (s *stage) address() string { return strings.TrimPrefix(s.server.URL, "http://") }

// client is coder/websocket's side of one connection.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

func (s *stage) dial() *client { return s.dialWith(nil) }

func (s *stage) dialWith(o *websocket.DialOptions) *client {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.server.URL+"/v1/ws", o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	return &client{t: s.t, ws: ws}
}

// connected dials and connects as user, and reads `connected`.
func (s *stage) connected(user presence.PublicID) *client {
	s.t.Helper()
	c := s.dial()
	c.send(`{"type":"connect","token":%q}`, s.token(user, time.Hour))
	require.Equal(s.t, "connected", c.read()["type"])
	return c
}

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(c.t, c.ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...)))
}

type message = map[string]any

func (c *client) tryRead() (message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, b, err := c.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	m := message{}
	require.NoError(c.t, json.Unmarshal(b, &m), "%s", b)
	return m, nil
}

func (c *client) read() message {
	c.t.Helper()
	m, err := c.tryRead()
	require.NoError(c.t, err)
	return m
}

// readType reads on to a frame of the type.
func (c *client) readType(name string) message {
	c.t.Helper()
	for {
		if m := c.read(); m["type"] == name {
			return m
		}
	}
}

// closed reads on to the end, and returns the close code and reason.
func (c *client) closed() (int, string) {
	c.t.Helper()
	for {
		_, err := c.tryRead()
		if err == nil {
			continue
		}
		var ce websocket.CloseError
		if errors.As(err, &ce) {
			return int(ce.Code), ce.Reason
		}
		require.NotErrorIs(c.t, err, context.DeadlineExceeded, "not closed")
		return 1006, err.Error()
	}
}

// connID is the id of the connection that was attached last.
func (s *stage) connID() presence.ConnID {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	return s.live.lastConn
}

func (s *stage) eventually(what string, ok func() bool) {
	s.t.Helper()
	require.Eventually(s.t, ok, patience, time.Millisecond, what)
}

// stageLive records what it is called for, and answers as actors would.
type stageLive struct {
	hub      *Hub
	mu       sync.Mutex
	calls    []string
	batches  []*presence.Batch
	lastConn presence.ConnID
	mute     bool          // no Welcome
	durable  bool          // every batch is durable at once
	hold     chan struct{} // Report waits for it
}

func (l *stageLive) note(format string, args ...any) {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf(format, args...))
	l.mu.Unlock()
}

func (l *stageLive) called() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.calls...)
}

func (l *stageLive) forget() {
	l.mu.Lock()
	l.calls, l.batches = nil, nil
	l.mu.Unlock()
}

func (l *stageLive) reported() []*presence.Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*presence.Batch(nil), l.batches...)
}

func (l *stageLive) Attach(user presence.UserID, conn presence.ConnID, device presence.DeviceID, radius float32) {
	l.note("attach %d %s %.0f", user, device, radius)
	l.mu.Lock()
	l.lastConn = conn
	mute := l.mute
	l.mu.Unlock()
	if !mute {
		l.hub.Welcome(conn, &presence.Welcome{Session: 77, Radius: 8047, ExitRadius: presence.ExitRadius(8047)})
	}
}

func (l *stageLive) Detach(user presence.UserID, _ presence.ConnID) { l.note("detach %d", user) }

func (l *stageLive) Report(b *presence.Batch) {
	l.mu.Lock()
	hold, durable := l.hold, l.durable
	l.mu.Unlock()
	if hold != nil {
		<-hold
	}
	l.mu.Lock()
	l.batches = append(l.batches, b)
	l.mu.Unlock()
	if durable {
		l.hub.Durable(b)
	}
}

func (l *stageLive) Rest(user presence.UserID, _ presence.ConnID, device presence.DeviceID) {
	l.note("rest %d %s", user, device)
}

func (l *stageLive) SetRadius(user presence.UserID, radius float32) {
	l.note("radius %d %.0f", user, radius)
	l.mu.Lock()
	conn := l.lastConn
	l.mu.Unlock()
	l.hub.Push(conn, &presence.Change{Full: true})
}

// stageAccounts knows users by name, and fails as it is told to.
type stageAccounts struct {
	mu       sync.Mutex
	calls    []string
	failure  error
	unknown  map[presence.PublicID]bool
	ids      map[presence.PublicID]presence.UserID
	requests []presence.PublicID
	hang     bool // until the context ends
	explode  bool // panic
}

func newStageAccounts() *stageAccounts {
	return &stageAccounts{unknown: map[presence.PublicID]bool{}, ids: map[presence.PublicID]presence.UserID{}}
}

func (a *stageAccounts) do(ctx context.Context, format string, args ...any) error {
	a.mu.Lock()
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
	failure, hang, explode := a.failure, a.hang, a.explode
	a.mu.Unlock()
	if explode {
		panic("stage")
	}
	if hang {
		<-ctx.Done()
		return fmt.Errorf("stage: %w", ctx.Err())
	}
	return failure
}

func (a *stageAccounts) set(failure error, hang bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failure, a.hang = failure, hang
}

func (a *stageAccounts) called() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.calls...)
}

func (a *stageAccounts) Login(ctx context.Context, user presence.PublicID) (presence.UserID, error) {
	if err := a.do(ctx, "login %s", user); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unknown[user] {
		return 0, ErrNotFound
	}
	if a.ids[user] == 0 {
		a.ids[user] = presence.UserID(len(a.ids) + 1)
	}
	return a.ids[user], nil
}

func (a *stageAccounts) Friend(ctx context.Context, user presence.UserID, op FriendOp, other presence.PublicID) error {
	return a.do(ctx, "friend %d %s %s", user, op, other)
}

func (a *stageAccounts) Share(ctx context.Context, user presence.UserID, friend presence.PublicID, mode presence.Mode, until presence.Millis) error {
	return a.do(ctx, "share %d %q %s %t", user, friend, mode, until != 0)
}

func (a *stageAccounts) Requests(ctx context.Context, user presence.UserID) ([]presence.PublicID, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests, nil
}

func (a *stageAccounts) Erase(ctx context.Context, user presence.UserID) error {
	return a.do(ctx, "erase %d", user)
}

type stageReadiness struct {
	mu  sync.Mutex
	why string
}

func (r *stageReadiness) NotReady() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

func (r *stageReadiness) set(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = why
}

// rawDial upgrades by hand, for tests that send frames no library would.
func (s *stage) rawDial(tune func(*net.TCPConn)) net.Conn {
	s.t.Helper()
	d := net.Dialer{Timeout: patience}
	nc, err := d.Dial("tcp", s.address())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = nc.Close() })
	if tune != nil {
		tune(nc.(*net.TCPConn))
	}
	_, err = fmt.Fprintf(nc, "GET /v1/ws HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	require.NoError(s.t, err)
	require.NoError(s.t, nc.SetReadDeadline(time.Now().Add(patience)))
	var head []byte
	one := make([]byte, 1)
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		_, err := nc.Read(one)
		require.NoError(s.t, err)
		head = append(head, one[0])
	}
	require.Contains(s.t, string(head), "101 Switching Protocols")
	require.NoError(s.t, nc.SetReadDeadline(time.Time{}))
	return nc
}

// masked is one client frame with these first two header bits and this payload.
func masked(first byte, payload []byte) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n <= 0xffff:
		b = append(b, 0x80|126, byte(n>>8), byte(n))
	default:
		b = append(b, 0x80|127, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	mask := [4]byte{7, 1, 255, 42}
	b = append(b, mask[:]...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

func statusOf(t testing.TB, s *stage, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.server.URL+"/v1/ws", nil)
	require.NoError(t, err)
	for k, v := range (http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}) {
		r.Header[k] = v
	}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}
