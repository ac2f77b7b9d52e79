package kith

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

const patience = 10 * time.Second

// server runs one script per connection, in turn; the last one serves all that
// follow.
type server struct {
	*httptest.Server
	t     *testing.T
	conns atomic.Int64
}

type peer struct {
	t  *testing.T
	ws *websocket.Conn
}

func serve(t *testing.T, scripts ...func(*peer)) *server {
	t.Helper()
	s := &server{t: t}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
		if err != nil {
			return
		}
		defer ws.CloseNow()
		n := int(s.conns.Add(1))
		scripts[min(n, len(scripts))-1](&peer{t: t, ws: ws})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) ws() string { return "ws" + strings.TrimPrefix(s.URL, "http") }

func (p *peer) say(format string, args ...any) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = p.ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...))
}

// hear returns the next frame, or nil once the client is gone.
func (p *peer) hear() map[string]any {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, text, err := p.ws.Read(ctx)
	if err != nil {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		p.t.Errorf("the client sent %q", text)
	}
	return m
}

func (p *peer) expect(typ string) map[string]any {
	m := p.hear()
	if m == nil || m["type"] != typ {
		p.t.Errorf("want %s, got %v", typ, m)
	}
	return m
}

func (p *peer) welcome() map[string]any {
	m := p.expect("connect")
	p.say(`{"type":"connected","user":"alice","config":{"max_frame_bytes":65536,"ping_s":25}}`)
	return m
}

func (p *peer) close(code int) {
	_ = p.ws.Close(websocket.StatusCode(code), "because")
}

// linger reads until the client goes.
func (p *peer) linger() {
	for p.hear() != nil {
	}
}

type running struct {
	*Client
	done chan error
	stop context.CancelFunc
}

func start(t *testing.T, s *server, opt Options) *running {
	t.Helper()
	opt.URL = s.ws()
	if opt.Token == nil {
		opt.Token = func(context.Context) (string, error) { return "t1", nil }
	}
	c := New(opt)
	c.pauses.rand = func() float64 { return 0.01 } // short pauses; their lengths are tested apart
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{Client: c, done: make(chan error, 1), stop: cancel}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.done <- c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return r
}

func (r *running) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(patience):
		t.Fatal("Run goes on")
		return nil
	}
}

func TestL2_UnacknowledgedFixesComeAgainAfterAReconnect(t *testing.T) {
	first := make(chan []uint64, 1)
	second := make(chan []uint64, 1)
	s := serve(t, func(p *peer) {
		p.welcome()
		var got []uint64
		for len(got) < 3 {
			m := p.hear()
			raw, _ := json.Marshal(m)
			got = append(got, sentSeqs(t, raw)...)
		}
		first <- got
		p.say(`{"type":"ack","seq":%d,"next_s":30}`, got[0])
		p.close(4101)
	}, func(p *peer) {
		p.welcome()
		raw, _ := json.Marshal(p.hear())
		got := sentSeqs(t, raw)
		second <- got
		p.say(`{"type":"error","code":"bad_coordinate","message":"x","seq":%d}`, got[0])
		p.say(`{"type":"ack","seq":%d}`, got[1])
		p.linger()
	})
	c := start(t, s, Options{})
	for range 3 {
		_, err := c.Fix(Fix{Lat: 1, Lng: 2})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, c.Flush(ctx))
	sent := <-first
	require.Equal(t, sent[1:], <-second)
	stats := c.Stats()
	require.Equal(t, Stats{Connections: 2, Acked: 2, Refused: 1}, stats)
	c.stop()
	require.NoError(t, c.ended(t))
}

func TestL1_AFixRefusedForTheMomentOutlivesTheAckOfALaterOne(t *testing.T) {
	s := serve(t, func(p *peer) {
		p.welcome()
		m := p.expect("fix")
		p.say(`{"type":"error","code":"too_many","message":"x","temporary":true,"seq":%.0f}`, m["seq"])
		p.say(`{"type":"ack","seq":%.0f}`, m["seq"])
		again := p.expect("fix")
		if again["seq"].(float64) <= m["seq"].(float64) || again["ts"] != m["ts"] {
			t.Errorf("want %v with a later seq, got %v", m, again)
		}
		p.say(`{"type":"ack","seq":%.0f}`, again["seq"])
		p.linger()
	})
	c := start(t, s, Options{})
	_, err := c.Fix(Fix{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, c.Flush(ctx))
	require.EqualValues(t, 1, c.Stats().Acked)
}

// TestPace_ManyFixesShareFrames sends far more fixes than frames may go out.
func TestPace_ManyFixesShareFrames(t *testing.T) {
	const fixes = 500
	frames := make(chan int, 1)
	s := serve(t, func(p *peer) {
		p.welcome()
		n := 0
		for last := 0.0; ; n++ {
			m := p.hear()
			if m == nil {
				frames <- n
				return
			}
			raw, _ := json.Marshal(m)
			for _, seq := range sentSeqs(t, raw) {
				last = float64(seq)
			}
			p.say(`{"type":"ack","seq":%.0f}`, last)
		}
	})
	c := start(t, s, Options{PerS: 20})
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range fixes {
		_, err := c.Fix(Fix{})
		require.NoError(t, err)
		<-tick.C
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, c.Flush(ctx))
	took := time.Since(began)
	c.stop()
	require.NoError(t, c.ended(t))
	require.EqualValues(t, fixes, c.Stats().Acked)
	require.LessOrEqual(t, <-frames, frameBurst+int(20*took.Seconds())+1)
}

func TestL3_View(t *testing.T) {
	changes := make(chan Friends, 10)
	s := serve(t, func(p *peer) {
		p.welcome()
		p.say(`{"type":"friends","v":1,"full":true,"near":[{"user":"bob","distance_m":5,"entered":true},{"user":"eve"}],"gone":[]}`)
		p.say(`{"type":"friends","v":2,"near":[{"user":"bob","distance_m":6}],"gone":[{"user":"eve","reason":"away"}]}`)
		p.say(`{"type":"friends","v":2,"near":[{"user":"late"}]}`)
		p.say(`{"type":"unheard-of"}`)
		p.say(`{"type":"friends","v":3,"full":true,"near":[{"user":"dan"}]}`)
		p.linger()
	})
	c := start(t, s, Options{OnFriends: func(m Friends) { changes <- m }})
	require.True(t, (<-changes).Full)
	second := <-changes
	require.Equal(t, []Gone{{User: "eve", Reason: "away"}}, second.Gone)
	require.Equal(t, uint64(3), (<-changes).V)
	view := c.View()
	require.Len(t, view, 1)
	require.Contains(t, view, "dan")
}

func TestL4_TerminalCodesEndRun(t *testing.T) {
	s := serve(t, func(p *peer) {
		p.welcome()
		p.close(4003)
	})
	err := start(t, s, Options{}).ended(t)
	var closed *ClosedError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, ClosedError{Code: 4003, Reason: "because"}, *closed)
	require.EqualValues(t, 1, s.conns.Load())
}

func TestL4_AnExpiredTokenIsReplacedAndARefusedOneIsNot(t *testing.T) {
	tokens := make(chan any, 3)
	s := serve(t, func(p *peer) {
		tokens <- p.welcome()["token"]
		p.close(4002)
	}, func(p *peer) {
		tokens <- p.welcome()["token"]
		p.close(4001)
	})
	n := 0
	err := start(t, s, Options{Token: func(context.Context) (string, error) {
		n = min(n+1, 2)
		return fmt.Sprintf("t%d", n), nil
	}}).ended(t)
	require.Equal(t, "t1", <-tokens)
	require.Equal(t, "t2", <-tokens)
	var closed *ClosedError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, 4001, closed.Code)

	err = start(t, s, Options{Token: func(context.Context) (string, error) { return "", errors.New("none") }}).ended(t)
	require.ErrorContains(t, err, "there is no token")
}

func TestL4_ADrainIsObeyed(t *testing.T) {
	began := make(chan time.Time, 2)
	s := serve(t, func(p *peer) {
		p.welcome()
		p.say(`{"type":"drain","retry_after_ms":300,"reason":"x"}`)
		began <- time.Now()
		p.close(4100)
	}, func(p *peer) {
		began <- time.Now()
		p.welcome()
		p.linger()
	})
	c := start(t, s, Options{})
	first := <-began
	require.GreaterOrEqual(t, (<-began).Sub(first), 290*time.Millisecond)
	require.Eventually(t, func() bool { return c.Stats().Connections == 2 }, patience, 5*time.Millisecond)
}

func TestPingsTokensAndCommands(t *testing.T) {
	notices := make(chan Notice, 2)
	over := make(chan struct{})
	s := serve(t, func(p *peer) {
		defer close(over)
		hello := p.welcome()
		if hello["device"] != "phone" || hello["radius_m"] != 500.0 {
			t.Errorf("connect says %v", hello)
		}
		p.say(`{"type":"ping"}`)
		p.expect("pong")
		p.say(`{"type":"expiring"}`)
		if m := p.expect("token"); m["token"] != "t1" {
			t.Errorf("token says %v", m)
		}
		p.say(`{"type":"request","user":"eve"}`)
		p.say(`{"type":"friend","user":"eve","op":"accepted"}`)
		m := p.expect("friend")
		p.say(`{"type":"ok","id":%q}`, m["id"])
		m = p.expect("share")
		p.say(`{"type":"error","id":%q,"code":"not_found","message":"no such user"}`, m["id"])
		p.expect("radius")
		p.close(4102)
	}, func(p *peer) {
		if hello := p.welcome(); hello["radius_m"] != 900.0 {
			t.Errorf("connect says %v", hello)
		}
		p.linger()
	})
	c := start(t, s, Options{Device: "phone", Radius: 500, OnNotice: func(n Notice) { notices <- n }})
	require.Equal(t, Notice{User: "eve", Op: "requested"}, <-notices)
	require.Equal(t, Notice{User: "eve", Op: "accepted"}, <-notices)
	require.NoError(t, c.Friend(t.Context(), "accept", "eve"))
	err := c.Share(t.Context(), "nobody", "area", 5)
	var said *ServerError
	require.ErrorAs(t, err, &said)
	require.Equal(t, "not_found", said.Code)
	require.ErrorIs(t, c.SetRadius(t.Context(), 900), ErrNotConnected, "the connection ended before the answer")
	<-over
	require.Eventually(t, func() bool { return c.Stats().Connections == 2 }, patience, 5*time.Millisecond)
}

func TestL2_ResendSendsAgainWhatIsNotAcknowledged(t *testing.T) {
	acks := make(chan Ack, 2)
	s := serve(t, func(p *peer) {
		p.welcome()
		first := p.expect("fix")
		p.say(`{"type":"ack","seq":%.0f,"next_s":30}`, first["seq"])
		second := p.expect("fix")
		again := p.expect("fix")
		if again["seq"] != second["seq"] || again["ts"] != second["ts"] {
			t.Errorf("want %v again, got %v", second, again)
		}
		p.say(`{"type":"ack","seq":%.0f}`, again["seq"])
		p.linger()
	})
	c := start(t, s, Options{OnAck: func(m Ack) { acks <- m }})
	seq, err := c.Fix(Fix{})
	require.NoError(t, err)
	require.Equal(t, Ack{Seq: seq, NextS: 30}, <-acks)
	c.Resend()
	seq, err = c.Fix(Fix{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.pending.unsent()
	}, patience, time.Millisecond)
	c.Resend()
	require.Equal(t, Ack{Seq: seq}, <-acks)
	require.EqualValues(t, 2, c.Stats().Acked)
}

func TestL3_AllGoesThroughTheView(t *testing.T) {
	changed := make(chan struct{}, 1)
	s := serve(t, func(p *peer) {
		p.welcome()
		p.say(`{"type":"friends","v":1,"full":true,"near":[{"user":"bob"},{"user":"eve"}],"gone":[]}`)
		p.linger()
	})
	c := start(t, s, Options{OnFriends: func(Friends) { changed <- struct{}{} }})
	<-changed
	seen := map[string]bool{}
	for f := range c.All() {
		seen[f.User] = true
	}
	require.Equal(t, map[string]bool{"bob": true, "eve": true}, seen)
	for range c.All() {
		break
	}
	require.Len(t, c.View(), 2, "the lock is free again")
}
