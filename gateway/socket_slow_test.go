package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// connectRaw connects as user on a hand-made connection with a small receive
// buffer, and reads `connected`.
func (s *stage) connectRaw(user presence.PublicID, receive int) net.Conn {
	s.t.Helper()
	nc := s.rawDial(func(tc *net.TCPConn) { require.NoError(s.t, tc.SetReadBuffer(receive)) })
	_, err := nc.Write(masked(finBit|textOp, fmt.Appendf(nil, `{"type":"connect","token":%q}`, s.token(user, time.Hour))))
	require.NoError(s.t, err)
	_, p, err := readFrame(s.t, nc)
	require.NoError(s.t, err)
	require.Contains(s.t, string(p), `"connected"`)
	return nc
}

// crowd is a change in which n friends have moved.
func crowd(n, round int) *presence.Change {
	c := &presence.Change{Near: make([]presence.Near, n)}
	for i := range c.Near {
		c.Near[i] = near(presence.PublicID(fmt.Sprintf("friend%d", i)), float32(round), round == 0)
		c.Near[i].Position.TS = presence.Millis(round)
	}
	return c
}

func TestGW15_WhoReadsNothingIsClosed(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.StallAfter, c.SendBuffer = 300*time.Millisecond, 4096 })
	s.connectRaw("alice", 4096)
	id := s.connID()
	neighbour := s.connected("bob")
	began := time.Now()
	for round := 0; s.hub.Len() == 2; round++ {
		s.hub.Push(id, crowd(400, round))
		require.Less(t, time.Since(began), patience)
		time.Sleep(5 * time.Millisecond)
	}
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	require.EqualValues(t, 1, testutil.ToFloat64(s.hub.metrics.closes.WithLabelValues("4101")))
	require.EqualValues(t, 1, testutil.ToFloat64(s.hub.metrics.slow))
	require.Positive(t, testutil.ToFloat64(s.hub.metrics.conflated))
	s.eventually("writers end", func() bool { return testutil.ToFloat64(s.hub.metrics.flushing) == 0 })
	neighbour.send(`{"type":"share","mode":"exact"}`)
	require.Equal(t, "ok", neighbour.read()["type"])
}

// A client that reads a little all the time stays, although it can never catch
// up and does not answer pings in time; and it gets the newest of each friend.
func TestGW15_WhoReadsSlowlyStays(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) {
		c.StallAfter, c.SendBuffer, c.FlushBytes = time.Second, 4096, 4096
		c.PingEvery, c.PongWithin = 300*time.Millisecond, 300*time.Millisecond
	})
	nc := s.connectRaw("alice", 2048)
	id := s.connID()
	stop := make(chan struct{})
	pushed := make(chan int)
	go func() {
		for round := 0; ; round++ {
			select {
			case <-stop:
				pushed <- round
				return
			default:
			}
			s.hub.Push(id, crowd(400, round))
			time.Sleep(10 * time.Millisecond)
		}
	}()
	slow := &trickle{nc: nc, every: 20 * time.Millisecond}
	seen := map[string]float64{}
	last := 0.0
	read := func() {
		m := slow.frame(t)
		if m["type"] == "ping" {
			_, err := nc.Write(masked(finBit|textOp, []byte(`{"type":"pong"}`)))
			require.NoError(t, err)
			return
		}
		require.Equal(t, "friends", m["type"])
		require.Greater(t, m["v"], last)
		last = m["v"].(float64)
		for _, n := range m["near"].([]any) {
			n := n.(map[string]any)
			user, ts := n["user"].(string), n["ts"].(float64)
			if before, known := seen[user]; known {
				require.Greater(t, ts, before, "only ever newer")
				require.NotContains(t, n, "entered", "once only")
			} else {
				require.Contains(t, n, "entered", "however often it was replaced")
			}
			seen[user] = ts
		}
	}
	for began := time.Now(); time.Since(began) < 2*time.Second; {
		read()
	}
	close(stop)
	rounds := <-pushed
	for _, code := range []string{"4101", "4102", "1006"} {
		require.Zero(t, testutil.ToFloat64(s.hub.metrics.closes.WithLabelValues(code)), code)
	}
	require.Equal(t, 1, s.hub.Len(), "still there")
	slow.every = 0
	newest := func() bool {
		for i := range 400 {
			if seen[fmt.Sprintf("friend%d", i)] != float64(rounds-1) {
				return false
			}
		}
		return true
	}
	for !newest() {
		read()
	}
	require.Less(t, last, float64(400*rounds)/4, "far fewer entries were sent than pushed")
	require.Positive(t, testutil.ToFloat64(s.hub.metrics.conflated))
}

// trickle reads 256 bytes at a time, with a pause after each.
type trickle struct {
	nc    net.Conn
	every time.Duration
}

func (r *trickle) Read(b []byte) (int, error) {
	time.Sleep(r.every)
	return r.nc.Read(b[:min(len(b), 256)])
}

func (r *trickle) frame(t testing.TB) message {
	t.Helper()
	require.NoError(t, r.nc.SetReadDeadline(time.Now().Add(patience)))
	head := make([]byte, 2)
	_, err := io.ReadFull(r, head)
	require.NoError(t, err)
	n := int(head[1])
	if n == 126 {
		_, err := io.ReadFull(r, head)
		require.NoError(t, err)
		n = int(head[0])<<8 | int(head[1])
	}
	p := make([]byte, n)
	_, err = io.ReadFull(r, p)
	require.NoError(t, err)
	m := message{}
	require.NoError(t, json.Unmarshal(p, &m))
	return m
}

func TestGW15_TooManyUnreadNotices(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) { c.SendBuffer = 4096 })
	s.connectRaw("alice", 4096)
	id := s.connID()
	for i := 0; s.hub.Len() == 1; i++ {
		require.Less(t, i, 100_000)
		s.hub.Notify(id, presence.Notice{Kind: presence.Requested, User: "bob"})
		if i%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	require.EqualValues(t, 1, testutil.ToFloat64(s.hub.metrics.closes.WithLabelValues("4101")))
}

// A client that sends and never reads is not read from either: its answers wait
// in a bounded queue.
func TestGW15_WhoDoesNotReadAnswersIsNotReadFrom(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) {
		c.SendBuffer, c.StallAfter, c.FixesPerS = 4096, 400*time.Millisecond, 1e6
	})
	nc := s.connectRaw("alice", 4096)
	bad := masked(finBit|textOp, []byte(`{"type":"fixes","fixes":[{"seq":1}]}`))
	require.NoError(t, nc.SetWriteDeadline(time.Now().Add(patience)))
	sent := 0
	for {
		n, err := nc.Write(bad)
		sent += n
		if err != nil {
			break
		}
	}
	require.Less(t, sent, 64<<20)
	s.eventually("closed as slow", func() bool { return s.hub.Len() == 0 })
	require.EqualValues(t, 1, testutil.ToFloat64(s.hub.metrics.closes.WithLabelValues("4101")))
}

// Whoever is cut off is found out by the pong that does not come.
func TestGW10_ADeadConnectionEnds(t *testing.T) {
	s := newStage(t, func(c *SocketConfig) {
		c.PingEvery, c.PongWithin, c.CloseWithin = 300*time.Millisecond, 150*time.Millisecond, 50*time.Millisecond
	})
	s.connectRaw("alice", 4096) // its kernel takes everything, its program nothing
	began := time.Now()
	s.eventually("closed", func() bool { return s.hub.Len() == 0 })
	require.Less(t, time.Since(began), 1500*time.Millisecond)
	require.EqualValues(t, 1, testutil.ToFloat64(s.hub.metrics.closes.WithLabelValues("4102")))
}
