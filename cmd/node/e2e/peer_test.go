package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// obj is a JSON object to be sent.
type obj = map[string]any

// near is a friend in a view, as PROTOCOL.md has it.
type near struct {
	User      string
	Lat, Lng  float64
	TS        int64
	Acc       *float64
	DistanceM float64 `json:"distance_m"`
	Bearing   float64 `json:"bearing_deg"`
	Speed     *float64
	Heading   *float64
	Battery   *float64
	State     string
	Precision string
	Entered   bool
}

type gone struct{ User, Reason string }

// frame is any message of the server.
type frame struct {
	Type, ID, Code, Field, Message, Op, User, Node, Reason string

	Seq          *uint64
	Session      uint64
	Now          int64
	Temporary    bool
	V            uint64
	Full         bool
	Near         []near
	Gone         []gone
	NextS        float64 `json:"next_s"`
	RetryAfterMS *int64  `json:"retry_after_ms"`
	Config       struct {
		RadiusM       float64 `json:"radius_m"`
		ExitRadiusM   float64 `json:"exit_radius_m"`
		FixS          float64 `json:"fix_s"`
		StaleS        float64 `json:"stale_s"`
		PingS         float64 `json:"ping_s"`
		MaxFrameBytes int     `json:"max_frame_bytes"`
	}

	raw string
}

// peer is a WebSocket client that knows nothing but the protocol. It reads all
// the time, answers pings, and keeps what it read until the test takes it.
type peer struct {
	t    testing.TB
	name string
	ws   *websocket.Conn

	seq, lastFix uint64

	mu      sync.Mutex
	frames  []frame // not yet taken
	view    map[string]near
	v       uint64
	err     error  // why reading ended
	ack     uint64 // the highest
	changed chan struct{}
	on      func(frame) // sees each frame first; nil = nobody
	stop    context.CancelFunc
	ended   chan struct{}
}

func (s *server) socketURL() string { return "ws" + strings.TrimPrefix(s.http, "http") + "/v1/ws" }

// dial opens a socket and says nothing. It is closed with the test.
func (s *server) dial(opts *websocket.DialOptions) *peer {
	s.t.Helper()
	p, err := s.tryDial(opts)
	require.NoError(s.t, err)
	return p
}

func (s *server) tryDial(opts *websocket.DialOptions) (*peer, error) {
	if opts == nil {
		opts = &websocket.DialOptions{}
	}
	dialing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(dialing, s.socketURL(), opts)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(8 << 20)
	ctx, stop := context.WithCancel(context.Background())
	p := &peer{t: s.t, ws: ws, view: map[string]near{}, changed: make(chan struct{}), stop: stop, ended: make(chan struct{})}
	go p.read(ctx)
	s.t.Cleanup(p.cut)
	return p, nil
}

// connect opens a socket for a user's device ("" = none is named).
func (s *server) connect(user, device string, more ...obj) *peer {
	s.t.Helper()
	p := s.dial(nil)
	p.name = user
	hello := obj{"type": "connect", "token": token(s.t, user, time.Hour)}
	if device != "" {
		hello["device"] = device
	}
	for _, m := range more {
		for k, v := range m {
			hello[k] = v
		}
	}
	p.send(hello)
	p.next("connected")
	return p
}

func (p *peer) read(ctx context.Context) {
	defer close(p.ended)
	for {
		_, text, err := p.ws.Read(ctx)
		if err != nil {
			p.note(func() { p.err = err })
			return
		}
		var f frame
		if err := json.Unmarshal(text, &f); err != nil {
			p.note(func() { p.err = fmt.Errorf("a frame is no JSON: %w", err) })
			return
		}
		f.raw = string(text)
		if f.Type == "ping" {
			_ = p.write(obj{"type": "pong"})
			continue
		}
		p.note(func() { p.take(f) })
	}
}

// take adds a frame, and keeps the view by it.
func (p *peer) take(f frame) {
	if p.on != nil {
		p.on(f)
	}
	if f.Type == "friends" {
		if f.V <= p.v {
			p.err = fmt.Errorf("v went from %d to %d", p.v, f.V)
		}
		p.v = f.V
		if f.Full {
			p.view = map[string]near{}
		}
		for _, g := range f.Gone {
			delete(p.view, g.User)
		}
		for _, n := range f.Near {
			p.view[n.User] = n
		}
	}
	if f.Type == "ack" {
		if f.Seq == nil || *f.Seq < p.ack {
			p.err = fmt.Errorf("an ack after that of %d: %s", p.ack, f.raw)
		} else {
			p.ack = *f.Seq
		}
	}
	p.frames = append(p.frames, f)
}

func (p *peer) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// until waits until done says so; done is called with p locked.
func (p *peer) until(what string, done func() bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		ok, err, changed := done(), p.err, p.changed
		p.mu.Unlock()
		if ok {
			return
		}
		if err != nil {
			p.t.Fatalf("%s waits for %s, and its connection ended: %v", p.name, what, err)
		}
		select {
		case <-changed:
		case <-deadline:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("%s waits for %s in vain; it has %s", p.name, what, raws(p.frames))
		}
	}
}

func raws(frames []frame) string {
	var b strings.Builder
	for _, f := range frames[max(0, len(frames)-20):] {
		b.WriteString("\n  " + f.raw)
	}
	return b.String()
}

// next takes the first frame of a type, and leaves the others.
func (p *peer) next(kind string) frame {
	p.t.Helper()
	return p.match("a frame "+kind, func(f frame) bool { return f.Type == kind })
}

// match takes the first frame that is right.
func (p *peer) match(what string, right func(frame) bool) (found frame) {
	p.t.Helper()
	p.until(what, func() bool {
		for i, f := range p.frames {
			if right(f) {
				found = f
				p.frames = append(p.frames[:i], p.frames[i+1:]...)
				return true
			}
		}
		return false
	})
	return found
}

// answer sends a message with an id and takes the answer to it.
func (p *peer) answer(m obj) frame {
	p.t.Helper()
	p.mu.Lock()
	p.seq++
	id := fmt.Sprintf("m%d", p.seq)
	p.mu.Unlock()
	m["id"] = id
	p.send(m)
	return p.match(fmt.Sprintf("the answer to %v", m), func(f frame) bool { return f.ID == id })
}

// refused sends a message, and checks that the answer is this error.
func (p *peer) refused(m obj, code, field string) frame {
	p.t.Helper()
	f := p.answer(m)
	require.Equal(p.t, []string{"error", code, field}, []string{f.Type, f.Code, f.Field}, "%s", f.raw)
	require.NotEmpty(p.t, f.Message)
	return f
}

// accepted sends a message, and checks that the answer is ok.
func (p *peer) accepted(m obj) {
	p.t.Helper()
	f := p.answer(m)
	require.Equal(p.t, "ok", f.Type, "%v: %s", m, f.raw)
}

func (p *peer) send(m obj) {
	p.t.Helper()
	require.NoError(p.t, p.write(m), "%s", p.name)
}

func (p *peer) write(m obj) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return p.writeText(string(text))
}

func (p *peer) writeText(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.ws.Write(ctx, websocket.MessageText, []byte(text))
}

// fix sends a fix with the next seq and no ts, and returns the seq.
func (p *peer) fix(lat, lng float64, more ...obj) uint64 {
	p.t.Helper()
	p.mu.Lock()
	p.seq++
	seq := p.seq
	p.lastFix = seq
	p.mu.Unlock()
	m := obj{"type": "fix", "seq": seq, "lat": lat, "lng": lng}
	for _, o := range more {
		for k, v := range o {
			m[k] = v
		}
	}
	p.send(m)
	return seq
}

// at sends a fix and waits until it is durable.
func (p *peer) at(lat, lng float64, more ...obj) {
	p.t.Helper()
	p.acked(p.fix(lat, lng, more...))
}

// acked waits until seq is acknowledged, and takes all acks that have come.
func (p *peer) acked(seq uint64) {
	p.t.Helper()
	p.until(fmt.Sprintf("the ack of %d", seq), func() bool { return p.ack >= seq })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = slices.DeleteFunc(p.frames, func(f frame) bool { return f.Type == "ack" })
}

// sees waits until a friend is in the view.
func (p *peer) sees(user string) near {
	p.t.Helper()
	var n near
	p.until("the sight of "+user, func() (ok bool) { n, ok = p.view[user]; return ok })
	return n
}

// loses waits until a friend has left the view, and checks the reason.
func (p *peer) loses(user, reason string) {
	p.t.Helper()
	f := p.match("gone "+user, func(f frame) bool { return goneOf(f, user) != "" })
	require.Equal(p.t, reason, goneOf(f, user), "%s loses %s", p.name, user)
}

func goneOf(f frame, user string) string {
	for _, g := range f.Gone {
		if g.User == user {
			return g.Reason
		}
	}
	return ""
}

// closed waits for the end of the connection and returns the close code and reason.
func (p *peer) closed() (int, string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the connection of %q is not closed", p.name)
	}
	var e websocket.CloseError
	require.True(p.t, errors.As(p.err, &e), "%s ended without a close frame: %v", p.name, p.err)
	return int(e.Code), e.Reason
}

// leave closes the connection properly.
func (p *peer) leave() {
	p.t.Helper()
	require.NoError(p.t, p.ws.Close(websocket.StatusNormalClosure, ""))
	<-p.ended
}

// cut ends the connection without a word.
func (p *peer) cut() {
	p.stop()
	_ = p.ws.CloseNow()
	<-p.ended
}

// taken hands over all frames that were not taken, and forgets them.
func (p *peer) taken() []frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.frames
	p.frames = nil
	return all
}

// quiet proves that nothing comes for d.
func (p *peer) quiet(d time.Duration) {
	p.t.Helper()
	wait(d)
	frames := p.taken()
	require.Empty(p.t, frames, "%s was to hear nothing: %s", p.name, raws(frames))
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NoError(p.t, p.err, "%s", p.name)
}
