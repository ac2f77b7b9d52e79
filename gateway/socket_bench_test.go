package gateway

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
)

// idleConns is how many connections BenchmarkIdleConn holds.
func idleConns(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("KITH_IDLE_CONNS"))
	if err != nil {
		return 2000
	}
	require.LessOrEqual(b, 2*n+200, openFiles(), "both ends of each connection need a file descriptor here")
	return n
}

// resident is the process's resident memory, in bytes.
func resident(b *testing.B) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		b.Skip("no /proc here")
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(b, err)
			return kib << 10
		}
	}
	b.Fatal("no VmRSS")
	return 0
}

func settle() {
	for range 4 {
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
	}
}

// rawClients returns n connected clients that have sent a fix and got its ack.
func (s *stage) rawClients(b *testing.B, n int) []net.Conn {
	all := make([]net.Conn, n)
	for i := range all {
		all[i] = s.rawDial(nil)
		user := presence.PublicID(fmt.Sprintf("user%d", i))
		_, err := all[i].Write(masked(finBit|textOp, fmt.Appendf(nil, `{"type":"connect","token":%q,"device":"phone"}`, s.token(user, time.Hour))))
		require.NoError(b, err)
		_, p, err := readFrame(b, all[i])
		require.NoError(b, err)
		require.Contains(b, string(p), `"connected"`)
		_, err = all[i].Write(masked(finBit|textOp, []byte(`{"type":"fix","lat":59.3,"lng":18.1,"seq":1}`)))
		require.NoError(b, err)
		_, p, err = readFrame(b, all[i])
		require.NoError(b, err)
		require.Contains(b, string(p), `"ack"`)
		require.NoError(b, all[i].SetReadDeadline(time.Time{}))
	}
	return all
}

// BenchmarkIdleConn gives the memory of one connected client that has sent a
// fix and got its ack, with all of the gateway's state, and of the client's end
// of the socket in Go, which is measured alone and taken off. KITH_IDLE_CONNS
// sets how many are held.
func BenchmarkIdleConn(b *testing.B) {
	n := idleConns(b)
	for b.Loop() {
		peer := peerCost(b, n)
		s := newStage(b, func(c *SocketConfig) { c.ConnectsPerS, c.PingEvery = 0, 100*time.Hour })
		s.live.durable = true
		for _, nc := range s.rawClients(b, 50) { // pools and tables exist
			_ = nc.Close()
		}
		s.eventually("none", func() bool { return s.hub.Len() == 0 })
		forget(s)
		settle()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rss, goroutines := resident(b), runtime.NumGoroutine()
		clients := s.rawClients(b, n)
		forget(s)
		settle()
		runtime.ReadMemStats(&after)
		per := func(v int64) float64 { return float64(v) / float64(n) }
		b.ReportMetric(per(resident(b)-rss)-peer, "rss-B/conn")
		b.ReportMetric(per(int64(after.HeapInuse)-int64(before.HeapInuse)), "heap-B/conn")
		b.ReportMetric(per(int64(after.StackInuse)-int64(before.StackInuse)), "stack-B/conn")
		b.ReportMetric(per(int64(runtime.NumGoroutine()-goroutines)), "goroutines/conn")
		b.ReportMetric(peer, "peer-B/conn")
		for _, nc := range clients {
			_ = nc.Close()
		}
		s.hub.Stop()
	}
}

// forget drops what the fakes recorded: it is not the gateway's.
func forget(s *stage) {
	s.live.forget()
	s.people.mu.Lock()
	s.people.calls, s.people.ids = nil, map[presence.PublicID]presence.UserID{}
	s.people.mu.Unlock()
}

// peerCost is the resident memory of one more plain client end, per connection:
// the ends of n plain connections, halved.
func peerCost(b *testing.B, n int) float64 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer func() { _ = l.Close() }()
	settle()
	before := resident(b)
	ends := make([]net.Conn, 0, 2*n)
	for range n {
		a, err := net.Dial("tcp", l.Addr().String())
		require.NoError(b, err)
		z, err := l.Accept()
		require.NoError(b, err)
		ends = append(ends, a, z)
	}
	settle()
	cost := float64(resident(b)-before) / float64(len(ends))
	for _, nc := range ends {
		_ = nc.Close()
	}
	settle()
	return max(cost, 0)
}

// BenchmarkFixAndAck is one fix from a client's write to its ack, on loopback.
func BenchmarkFixAndAck(b *testing.B) {
	s := newStage(b, func(c *SocketConfig) { c.FixesPerS, c.FrameBurst, c.PingEvery = 1e9, 1e9, 100*time.Hour })
	s.live.durable = true
	nc := s.rawClients(b, 1)[0]
	fix := masked(finBit|textOp, []byte(`{"type":"fix","seq":48213,"lat":59.3293421,"lng":18.0685712,"acc":8.5}`))
	r := bufio.NewReader(nc)
	b.ReportAllocs()
	for b.Loop() {
		_, err := nc.Write(fix)
		require.NoError(b, err)
		head, err := r.Peek(2)
		require.NoError(b, err)
		_, err = r.Discard(2 + int(head[1]))
		require.NoError(b, err)
	}
}

// BenchmarkPush is one friend's move to one client, until the client has it.
func BenchmarkPush(b *testing.B) {
	s := newStage(b, func(c *SocketConfig) { c.PingEvery = 100 * time.Hour })
	s.live.durable = true
	nc := s.rawClients(b, 1)[0]
	id := s.connID()
	change := &presence.Change{Near: []presence.Near{near("bob", 120, false)}}
	r := bufio.NewReader(nc)
	b.ReportAllocs()
	for b.Loop() {
		s.hub.Push(id, change)
		head, err := r.Peek(4)
		require.NoError(b, err)
		_, err = r.Discard(4 + int(head[2])<<8 + int(head[3]))
		require.NoError(b, err)
	}
}
