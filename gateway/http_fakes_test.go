package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/geo"
	"github.com/kith-nearby/kith/presence"
)

// fakeNode is a whole node in memory behind the ports: users, friendships,
// history without doubles, and acks through the real Hub.
type fakeNode struct {
	mu         sync.Mutex
	hub        *Hub
	autoCreate bool
	down       bool   // the database does not answer
	why        string // not ready
	last       presence.UserID
	ids        map[presence.PublicID]presence.UserID
	friends    map[presence.PublicID]map[presence.PublicID]presence.Share
	history    map[presence.UserID][]HistoryRow
	near       map[presence.UserID][]presence.Near
	reports    int
	failure    error         // what Views and Operator return, if not nil
	explode    any           // Nearby panics with it
	hang       bool          // Nearby ends with its context only
	blocked    chan struct{} // Nearby waits for its end
	entered    chan struct{} // Nearby says that it waits
}

func (n *fakeNode) id(user presence.PublicID) presence.UserID {
	if n.ids[user] == 0 {
		n.last++
		n.ids[user] = n.last
	}
	return n.ids[user]
}

func (n *fakeNode) name(id presence.UserID) presence.PublicID {
	for name, other := range n.ids {
		if other == id {
			return name
		}
	}
	return ""
}

func (n *fakeNode) Attach(presence.UserID, presence.ConnID, presence.DeviceID, float32) {}
func (n *fakeNode) Detach(presence.UserID, presence.ConnID)                             {}
func (n *fakeNode) Rest(presence.UserID, presence.ConnID, presence.DeviceID)            {}
func (n *fakeNode) SetRadius(presence.UserID, float32)                                  {}

func (n *fakeNode) Report(b *presence.Batch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reports++
	if n.down {
		return // no ack while the database is down
	}
	for _, f := range b.Fixes {
		row := HistoryRow{Device: b.Device, Fix: f}
		double := slices.ContainsFunc(n.history[b.User], func(r HistoryRow) bool {
			return r.Device == row.Device && r.Fix.Seq == f.Seq && r.Fix.TS == f.TS
		})
		if !double {
			n.history[b.User] = append(n.history[b.User], row)
		}
	}
	slices.SortStableFunc(n.history[b.User], func(a, b HistoryRow) int { return cmp.Compare(a.Fix.TS, b.Fix.TS) })
	n.hub.Durable(b)
}

func (n *fakeNode) Nearby(ctx context.Context, user presence.UserID) ([]presence.Near, error) {
	if n.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if n.blocked != nil {
		n.entered <- struct{}{}
		<-n.blocked
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.explode != nil {
		panic(n.explode)
	}
	return n.near[user], n.failure
}

func (n *fakeNode) Presence(_ context.Context, users []presence.PublicID) ([]Status, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]Status, len(users))
	for i, u := range users {
		out[i] = Status{User: u, State: presence.Offline}
		if rows := n.history[n.ids[u]]; n.ids[u] != 0 && len(rows) > 0 {
			out[i] = Status{User: u, State: presence.Live, LastSeen: rows[len(rows)-1].Fix.TS, Node: "n1"}
		}
	}
	return out, n.failure
}

func (n *fakeNode) Login(_ context.Context, user presence.PublicID) (presence.UserID, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.down:
		return 0, ErrUnavailable
	case n.ids[user] == 0 && !n.autoCreate:
		return 0, ErrNotFound
	}
	return n.id(user), nil
}

func (n *fakeNode) Friend(context.Context, presence.UserID, FriendOp, presence.PublicID) error {
	return nil
}

func (n *fakeNode) Share(context.Context, presence.UserID, presence.PublicID, presence.Mode, presence.Millis) error {
	return nil
}

func (n *fakeNode) Requests(context.Context, presence.UserID) ([]presence.PublicID, error) {
	return nil, nil
}

func (n *fakeNode) Erase(ctx context.Context, user presence.UserID) error {
	n.mu.Lock()
	name := n.name(user)
	n.mu.Unlock()
	return n.EraseUser(ctx, name)
}

func (n *fakeNode) PutUser(_ context.Context, user presence.PublicID) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure != nil {
		return false, n.failure
	}
	created := n.ids[user] == 0
	n.id(user)
	return created, nil
}

func (n *fakeNode) GetUser(_ context.Context, user presence.PublicID) (UserInfo, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids[user] == 0 {
		return UserInfo{}, ErrNotFound
	}
	return UserInfo{User: user, Created: 1_799_000_000_000, Share: presence.Share{Mode: presence.Area, Until: 1_900_000_000_000, Then: presence.None}}, n.failure
}

func (n *fakeNode) EraseUser(_ context.Context, user presence.PublicID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := n.ids[user]
	if id == 0 {
		return ErrNotFound
	}
	delete(n.ids, user)
	delete(n.history, id)
	for friend := range n.friends[user] {
		delete(n.friends[friend], user)
	}
	delete(n.friends, user)
	return n.failure
}

func (n *fakeNode) SetFriends(_ context.Context, a, b presence.PublicID, friends bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.failure != nil:
		return n.failure
	case n.ids[a] == 0 || n.ids[b] == 0:
		return ErrNotFound
	}
	for _, pair := range [][2]presence.PublicID{{a, b}, {b, a}} {
		if !friends {
			delete(n.friends[pair[0]], pair[1])
			continue
		}
		if n.friends[pair[0]] == nil {
			n.friends[pair[0]] = map[presence.PublicID]presence.Share{}
		}
		n.friends[pair[0]][pair[1]] = presence.Share{}
	}
	return nil
}

func (n *fakeNode) Friends(_ context.Context, user presence.PublicID) ([]FriendInfo, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids[user] == 0 {
		return nil, ErrNotFound
	}
	var out []FriendInfo
	for friend, share := range n.friends[user] {
		out = append(out, FriendInfo{User: friend, Share: share})
	}
	return out, n.failure
}

func (n *fakeNode) History(_ context.Context, user presence.PublicID, q HistoryQuery) ([]HistoryRow, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids[user] == 0 {
		return nil, "", ErrNotFound
	}
	skip := 0
	if q.Cursor != "" {
		number, ok := strings.CutPrefix(q.Cursor, "at:")
		var err error
		if skip, err = strconv.Atoi(number); err != nil || !ok {
			return nil, "", ErrBadCursor
		}
	}
	var rows []HistoryRow
	for _, r := range n.history[n.ids[user]] {
		if r.Fix.TS >= q.From && (q.To == 0 || r.Fix.TS < q.To) {
			rows = append(rows, r)
		}
	}
	rows = rows[min(skip, len(rows)):]
	if len(rows) <= q.Limit {
		return rows, "", n.failure
	}
	return rows[:q.Limit], "at:" + strconv.Itoa(skip+q.Limit), n.failure
}

func (n *fakeNode) NotReady() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.why
}

// bench is a public handler over a fakeNode, with a clock that stands still.
type bench struct {
	*fakeNode
	t       testing.TB
	auth    *Auth
	reg     *prometheus.Registry
	log     *bytes.Buffer
	now     time.Time
	handler http.Handler
}

func newBench(t testing.TB, change func(*HTTPConfig)) *bench {
	t.Helper()
	b := &bench{
		t: t, auth: testAuth(t), reg: prometheus.NewRegistry(), log: &bytes.Buffer{}, now: testNow,
		fakeNode: &fakeNode{
			hub: newTestHub(t), ids: map[presence.PublicID]presence.UserID{},
			friends: map[presence.PublicID]map[presence.PublicID]presence.Share{},
			history: map[presence.UserID][]HistoryRow{}, near: map[presence.UserID][]presence.Near{},
		},
	}
	b.id("ann")
	b.id("bob")
	cfg := HTTPConfig{
		Origins: NewOrigins([]string{"https://app.example.org"}, false), Now: func() time.Time { return b.now },
		Durable: 50 * time.Millisecond, RequestsPerS: 1, Requests: 1000,
	}
	if change != nil {
		change(&cfg)
	}
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	sockets := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	ports := HTTPPorts{Live: b, Views: b, Accounts: b, Operator: b, Histories: b, Readiness: b, Hub: b.hub}
	b.handler = NewPublicHandler(cfg, ports, b.auth, sockets, log, b.reg)
	return b
}

func (b *bench) token(user presence.PublicID) string {
	b.t.Helper()
	token, err := b.auth.Issue(user, time.Hour, b.now)
	require.NoError(b.t, err)
	return token
}

// call makes a request. who is a user, "operator", or "" for no token.
func (b *bench) call(who, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := newRequest(method, target, body)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	switch who {
	case "":
	case "operator":
		r.Header.Set("Authorization", "Bearer "+testKey)
	default:
		r.Header.Set("Authorization", "Bearer "+b.token(presence.PublicID(who)))
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.serve(r)
}

func (b *bench) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

func newRequest(method, target, body string) *http.Request {
	if body == "" {
		return httptest.NewRequest(method, target, nil)
	}
	return httptest.NewRequest(method, target, strings.NewReader(body))
}

// problem requires w to be an error of the API and returns it.
func problem(t testing.TB, w *httptest.ResponseRecorder, status int, code string) Problem {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, problemType, w.Header().Get("Content-Type"))
	var p Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), w.Body.String())
	require.Equal(t, status, p.Status)
	require.Equal(t, code, p.Code, p.Detail)
	require.NotEmpty(t, p.Title)
	require.NotEmpty(t, p.Detail)
	return p
}

func body[T any](t testing.TB, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	var v T
	if status != http.StatusNoContent {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v), w.Body.String())
	}
	return v
}

func point(t testing.TB, lat, lng float64) geo.Point {
	t.Helper()
	p, err := geo.FromDegrees(lat, lng)
	require.NoError(t, err)
	return p
}
