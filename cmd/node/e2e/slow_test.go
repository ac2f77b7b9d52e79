package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// herd is friends of two viewers, all near them, who move once a second.
type herd struct {
	peers []*peer
	mu    sync.Mutex
	at    map[string]float64 // where each is: the lng that it sent last
	stop  chan struct{}
	moved sync.WaitGroup
}

const herdSize = 400

func herdPairs(viewers ...string) (pairs [][2]string) {
	for i := range herdSize {
		for _, v := range viewers {
			pairs = append(pairs, [2]string{fmt.Sprintf("cow%d", i), v})
		}
	}
	return pairs
}

func (s *server) newHerd() *herd {
	h := &herd{at: map[string]float64{}, stop: make(chan struct{})}
	for i := range herdSize {
		h.peers = append(h.peers, s.connect(fmt.Sprintf("cow%d", i), ""))
	}
	for i, p := range h.peers {
		h.moved.Go(func() { h.move(p, i) })
	}
	s.t.Cleanup(h.halt)
	return h
}

func (h *herd) move(p *peer, i int) {
	wait(time.Duration(i) * time.Second / herdSize)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for k := 0; ; k++ {
		lng := lng0 + float64(i)*1e-5 + float64(k%100)*1e-7
		p.mu.Lock()
		p.frames, p.seq = nil, p.seq+1
		seq := p.seq
		p.mu.Unlock()
		if p.write(obj{"type": "fix", "seq": seq, "lat": lat0, "lng": lng}) != nil {
			return
		}
		h.mu.Lock()
		h.at[p.name] = lng
		h.mu.Unlock()
		select {
		case <-tick.C:
		case <-h.stop:
			return
		}
	}
}

// halt lets all stand where they are.
func (h *herd) halt() {
	select {
	case <-h.stop:
	default:
		close(h.stop)
	}
	h.moved.Wait()
}

// snail reads so many bytes a second, keeps a view of what it reads, and answers
// pings once it comes to them.
type snail struct {
	conn *rawConn
	rate int       // bytes a second; 0 = all there is
	next time.Time // when the next bytes are due

	mu    sync.Mutex
	bytes int
	v     uint64
	view  map[string]near
	err   error
	pings int
}

// trickle is how much a snail reads at once.
const trickle = 100

func (n *snail) Read(b []byte) (int, error) {
	n.mu.Lock()
	rate := n.rate
	n.mu.Unlock()
	if rate > 0 {
		if n.next.IsZero() {
			n.next = time.Now()
		}
		n.next = n.next.Add(trickle * time.Second / time.Duration(rate))
		wait(time.Until(n.next))
		b = b[:min(len(b), trickle)]
	}
	got, err := n.conn.tcp.Read(b)
	n.mu.Lock()
	n.bytes += got
	n.mu.Unlock()
	return got, err
}

func (n *snail) crawl() {
	in := bufio.NewReaderSize(io.MultiReader(strings.NewReader(n.buffered()), n), trickle)
	for {
		op, payload, err := readFrame(in)
		var f frame
		if err == nil && op == opText {
			err = json.Unmarshal(payload, &f)
		}
		if err == nil && f.Type == "ping" {
			err = n.conn.write(text(`{"type":"pong"}`))
		}
		n.mu.Lock()
		switch {
		case err != nil:
		case op == opClose:
			err = fmt.Errorf("closed: %q", payload)
		case f.Type == "ping":
			n.pings++
		case f.Type == "friends":
			if f.V <= n.v {
				err = fmt.Errorf("v went from %d to %d", n.v, f.V)
			}
			n.v = f.V
			for _, item := range f.Near {
				n.view[item.User] = item
			}
		}
		n.err = err
		n.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// buffered is what was read with the answer to connect.
func (n *snail) buffered() string {
	b, _ := n.conn.in.Peek(n.conn.in.Buffered())
	return string(b)
}

// ok fails the test if the snail's connection has ended.
func (n *snail) ok(s *server) {
	s.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		s.t.Fatalf("who reads slowly stays connected: %v; closes so far: %v", n.err, s.closes())
	}
}

// TestSoak_E5_SlowReaders has 400 friends move for two viewers: one does not
// read at all, the other 1 KB a second. The node has its real ten seconds.
func TestSoak_E5_SlowReaders(t *testing.T) {
	long(t)
	crawling := 32 * time.Second
	if soaking() {
		crawling = 5 * time.Minute
	}
	s := prepare(t)
	s.importFriends(herdPairs("stuck", "snail"))
	s.start()
	c := newCouple(s, "friend")
	h := s.newHerd()
	eventually(s, patience, "the herd moves", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.at) == herdSize })
	peace := c.measure()
	before := s.usage()

	began := time.Now()
	slow := &snail{conn: s.rawDial(2 << 10).hello("snail"), rate: 1000, view: map[string]near{}}
	_ = slow.conn.tcp.SetReadDeadline(time.Time{})
	crawled := make(chan struct{})
	go func() {
		defer close(crawled)
		slow.crawl()
	}()
	t.Cleanup(func() {
		_ = slow.conn.tcp.Close()
		<-crawled
	})
	require.NoError(t, slow.conn.write(fixWith("52.5")))
	stuck := s.rawDial(2048).hello("stuck")
	require.NoError(t, stuck.write(fixWith("52.5")))

	c.unaffected(t, "one does not read and one reads slowly", peace)
	// What is written to it fills the buffers, then ten seconds pass.
	most := 0.0
	eventually(s, 40*time.Second, "who does not read is closed", func() bool {
		most = max(most, s.usage().heap)
		return s.closes()["4101"] == 1
	})
	closed := time.Since(began)
	require.Greater(t, closed, 10*time.Second)
	t.Logf("who does not read was closed after %v; at most %.1f MB more on the heap", closed.Round(time.Millisecond), (most-before.heap)/1e6)
	require.Less(t, most, before.heap+16<<20)
	stuck.drained()

	wait(crawling - time.Since(began))
	slow.ok(s)
	slow.mu.Lock()
	crept := slow.bytes
	slow.mu.Unlock()
	require.Less(t, float64(crept), crawling.Seconds()*1100, "it reads 1 KB/s")
	require.Greater(t, float64(crept), crawling.Seconds()*400, "or less: its window is small")
	h.halt()
	for _, p := range h.peers {
		p.acked(p.seq)
	}
	slow.mu.Lock()
	slow.rate = 0
	slow.mu.Unlock()
	newest := func() (n int) {
		slow.mu.Lock()
		defer slow.mu.Unlock()
		h.mu.Lock()
		defer h.mu.Unlock()
		for name, lng := range h.at {
			if item, ok := slow.view[name]; ok && item.Lng > lng-1e-8 && item.Lng < lng+1e-8 {
				n++
			}
		}
		return n
	}
	eventually(s, patience, "it gets the newest of each friend", func() bool { slow.ok(s); return newest() == herdSize })
	rest := slow.bytes - crept
	t.Logf("who reads 1 KB/s stayed for %v, answered %d pings, read %d bytes, and then %d to the newest of all %d", time.Since(began).Round(time.Second), slow.pings, crept, rest, herdSize)
	// A view of all, what the kernel holds, and no more: the history of the herd
	// meanwhile would be a hundred times that.
	require.Less(t, rest, 400<<10)
	require.Equal(t, map[string]int{"4101": 1}, s.closes(), "nobody else was closed")
}

// drained reads what is left until the end of the connection.
func (c *rawConn) drained() {
	c.t.Helper()
	_ = c.tcp.SetReadDeadline(time.Now().Add(patience))
	n, err := io.Copy(io.Discard, c.in)
	c.t.Logf("%d bytes were left for it, then: %v", n, err)
	require.Less(c.t, n, int64(1<<20))
}
