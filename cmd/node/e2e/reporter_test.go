package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// report is a fix as a reporter has sent it.
type report struct {
	Seq      uint64  `json:"seq"`
	TS       int64   `json:"ts"`
	Lat, Lng float64 `json:"-"`
}

// reporter is a client that sends fixes all the time, keeps what is not
// acknowledged, and sends it again after each reconnect: the other half of the
// promise that nothing acknowledged is lost.
type reporter struct {
	user  string
	token string
	url   string
	every time.Duration

	mu       sync.Mutex
	pending  []report // rising seq
	acked    []report
	connects int
	refused  []string
	wake     chan struct{}
}

func newReporter(t testing.TB, s *server, user string, every time.Duration) *reporter {
	return &reporter{user: user, token: token(t, user, 24*time.Hour), url: s.socketURL(), every: every, wake: make(chan struct{}, 1)}
}

// run reports until ctx ends. With produce over it makes no more fixes, and goes
// on until all that it has are acknowledged.
func (r *reporter) run(ctx context.Context, produce context.Context) {
	var work sync.WaitGroup
	work.Go(func() { r.produce(ctx, produce) })
	for ctx.Err() == nil && !(produce.Err() != nil && r.left() == 0) {
		r.connection(ctx, produce)
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	work.Wait()
}

// produce makes a fix every so often, with or without a connection.
func (r *reporter) produce(ctx, produce context.Context) {
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for seq := uint64(1); ; seq++ {
		select {
		case <-tick.C:
		case <-produce.Done():
			return
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		r.pending = append(r.pending, report{Seq: seq, TS: time.Now().UnixMilli(), Lat: lat0 + float64(seq%1000)*1e-6, Lng: lng0})
		r.mu.Unlock()
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func (r *reporter) left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}

// connection is one life of the socket: all that is pending, then each new fix.
func (r *reporter) connection(ctx, produce context.Context) {
	dialing, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(dialing, r.url, nil)
	if err != nil {
		return
	}
	life, end := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		defer end()
		r.read(life, ws, produce)
	})
	r.write(life, ws)
	end()
	_ = ws.CloseNow()
	work.Wait()
}

func (r *reporter) write(ctx context.Context, ws *websocket.Conn) {
	send := func(v any) bool {
		text, err := json.Marshal(v)
		return err == nil && ws.Write(ctx, websocket.MessageText, text) == nil
	}
	if !send(obj{"type": "connect", "token": r.token, "device": "phone"}) {
		return
	}
	last := uint64(0)
	for {
		r.mu.Lock()
		var list []obj
		for _, f := range r.pending {
			if f.Seq > last && len(list) < 500 {
				list = append(list, obj{"seq": f.Seq, "ts": f.TS, "lat": f.Lat, "lng": f.Lng})
				last = f.Seq
			}
		}
		r.mu.Unlock()
		switch {
		case len(list) == 1:
			list[0]["type"] = "fix"
			if !send(list[0]) {
				return
			}
		case len(list) > 1:
			if !send(obj{"type": "fixes", "fixes": list}) {
				return
			}
			continue
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

func (r *reporter) read(ctx context.Context, ws *websocket.Conn, produce context.Context) {
	for {
		_, text, err := ws.Read(ctx)
		if err != nil {
			return
		}
		var f frame
		if json.Unmarshal(text, &f) != nil {
			return
		}
		r.mu.Lock()
		switch f.Type {
		case "connected":
			r.connects++
		case "error":
			r.refused = append(r.refused, f.raw+string(text))
		case "ack":
			n := 0
			for n < len(r.pending) && f.Seq != nil && r.pending[n].Seq <= *f.Seq {
				n++
			}
			r.acked = append(r.acked, r.pending[:n]...)
			r.pending = append([]report(nil), r.pending[n:]...)
		}
		done := produce.Err() != nil && len(r.pending) == 0
		r.mu.Unlock()
		if done {
			return
		}
	}
}

// verify compares what was acknowledged with history: all of it is there, at
// its place and time, and nothing is there twice or was never sent.
func (r *reporter) verify(t testing.TB, s *server) (rows int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.refused)
	type key struct {
		device string
		seq    uint64
		ts     int64
	}
	sent := map[key]report{}
	for _, f := range append(append([]report(nil), r.acked...), r.pending...) {
		sent[key{"phone", f.Seq, f.TS}] = f
	}
	seen := map[key]bool{}
	for _, h := range s.history(r.user, 3000) {
		k := key{h.Device, h.Seq, h.TS}
		f, known := sent[k]
		require.True(t, known, "%s never sent %v", r.user, k)
		require.False(t, seen[k], "%s has %v twice", r.user, k)
		require.InDelta(t, f.Lat, h.Lat, 1e-7)
		require.InDelta(t, f.Lng, h.Lng, 1e-7)
		seen[k] = true
	}
	for _, f := range r.acked {
		require.True(t, seen[key{"phone", f.Seq, f.TS}], "%s: fix %d was acknowledged and is lost", r.user, f.Seq)
	}
	return len(seen)
}

// crew is several reporters at work.
type crew struct {
	all          []*reporter
	enough, quit context.CancelFunc
	work         sync.WaitGroup
}

func newCrew(t testing.TB, s *server, n int, every time.Duration) *crew {
	produce, enough := context.WithCancel(context.Background())
	ctx, quit := context.WithCancel(context.Background())
	c := &crew{enough: enough, quit: quit}
	for i := range n {
		r := newReporter(t, s, fmt.Sprintf("user%d", i), every)
		c.all = append(c.all, r)
		c.work.Go(func() { r.run(ctx, produce) })
	}
	t.Cleanup(func() {
		quit()
		enough()
		c.work.Wait()
	})
	return c
}

// acked counts the fixes acknowledged so far.
func (c *crew) acked() (n int) {
	for _, r := range c.all {
		r.mu.Lock()
		n += len(r.acked)
		r.mu.Unlock()
	}
	return n
}

// finish lets all make no more fixes, and waits until all are acknowledged.
func (c *crew) finish(t testing.TB) {
	t.Helper()
	c.enough()
	done := make(chan struct{})
	go func() {
		c.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * patience):
		for _, r := range c.all {
			t.Errorf("%s waits for %d acks", r.user, r.left())
		}
		t.Fatal("not all fixes are acknowledged")
	}
}
