package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/kith-nearby/kith/gateway"
	"github.com/kith-nearby/kith/presence"
)

// loadOrder tells a load generator where to go and with how many users.
type loadOrder struct {
	Addr  string
	Users int
}

// loadPhase is one thing to measure: closed loop with so many fixes under way on
// each socket, or (InFlight 0) open loop with so many fixes a second in all.
type loadPhase struct {
	Seconds  float64
	InFlight int
	Rate     float64
}

// loadReport is what was measured.
type loadReport struct {
	Sent, Acked int64
	FixesPerS   float64 // acknowledged
	Shown       int64   // fixes seen by a friend, or superseded by a later one seen
	Superseded  int64   // of them
	Refused     string  // the first error a client was sent
	Push, Ack   quantiles
}

// quantiles are milliseconds.
type quantiles struct{ P50, P99, P999, Max float64 }

func (q *quantiles) of(h *hdrhistogram.Histogram) {
	at := func(v int64) float64 { return float64(v) / 1000 }
	*q = quantiles{at(h.ValueAtQuantile(50)), at(h.ValueAtQuantile(99)), at(h.ValueAtQuantile(99.9)), at(h.Max())}
}

// remembered is how many fixes of a user a load generator can recognise.
const remembered = 1024

// loader is the clients of a load generator.
type loader struct {
	clients []*loadClient
	begun   time.Time
	shares  [16]struct {
		sync.Mutex
		push, ack *hdrhistogram.Histogram // µs
	}
	acked, shown, superseded atomic.Int64
	timed                    atomic.Bool
	refused                  atomic.Pointer[string]
}

// loadClient is one user with one socket.
type loadClient struct {
	*socket
	l      *loader
	number int
	frame  []byte
	room   chan struct{} // closed loop: one for each fix that may be sent

	mu    sync.Mutex
	sent  uint64 // seq of the last fix
	ts    int64  // of the last fix
	fixes [remembered]sentFix
	acked uint64
	seen  map[int64]uint64 // by friend: seq of the latest fix shown
}

type sentFix struct {
	ts  int64
	due time.Duration // since begun: when it was to be sent
}

// playLoad opens the sockets of a town and does what it is asked.
func playLoad(start json.RawMessage, ask func(any) (json.RawMessage, error)) error {
	var order loadOrder
	if err := json.Unmarshal(start, &order); err != nil {
		return err
	}
	t := newTown(order.Users, degree, 4, perVillage)
	l, err := newLoader(t, order)
	if err != nil {
		return err
	}
	var answer any = len(l.clients)
	for {
		question, err := ask(answer)
		if err != nil {
			return nil // the parent has gone
		}
		var p loadPhase
		if err := json.Unmarshal(question, &p); err != nil {
			return err
		}
		answer = l.run(t, p)
	}
}

func newLoader(t *town, order loadOrder) (*loader, error) {
	l := &loader{begun: time.Now()}
	l.forget()
	auth, err := gateway.NewAuth(gateway.AuthConfig{HS256Secret: benchSecret})
	if err != nil {
		return nil, err
	}
	sockets, err := openAll(order.Users, func(i int) (*socket, error) {
		s, err := dial(context.Background(), order.Addr, i)
		if err != nil {
			return nil, err
		}
		return s, enter(s, auth, presence.UserID(i+1))
	})
	if err != nil {
		return nil, err
	}
	for i, s := range sockets {
		c := &loadClient{socket: s, l: l, number: i, room: make(chan struct{}, remembered), seen: map[int64]uint64{}}
		l.clients = append(l.clients, c)
	}
	for _, c := range l.clients {
		go c.read()
		if err := c.fix(t, time.Since(l.begun)); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *loader) forget() {
	l.acked.Store(0)
	l.shown.Store(0)
	l.superseded.Store(0)
	for i := range l.shares {
		s := &l.shares[i]
		s.Lock()
		s.push, s.ack = hdrhistogram.New(1, 60_000_000, 3), hdrhistogram.New(1, 60_000_000, 3)
		s.Unlock()
	}
}

// run measures one phase: a second to get going, the time asked for, and then
// what is still under way may arrive.
func (l *loader) run(t *town, p loadPhase) loadReport {
	stop := make(chan struct{})
	var senders sync.WaitGroup
	if p.InFlight > 0 {
		for _, c := range l.clients {
			senders.Go(func() { c.closedLoop(t, p.InFlight, stop) })
		}
	} else {
		const pacers = 4
		for n := range pacers {
			senders.Go(func() { l.openLoop(t, n, pacers, p.Rate, stop) })
		}
	}
	time.Sleep(time.Second)
	l.forget()
	l.timed.Store(true)
	before, start := l.sent(), time.Now()
	time.Sleep(time.Duration(p.Seconds * float64(time.Second)))
	acked, took := l.acked.Load(), time.Since(start)
	r := loadReport{Sent: l.sent() - before, Acked: acked, FixesPerS: float64(acked) / took.Seconds()}
	close(stop)
	senders.Wait()
	for end := time.Now().Add(5 * time.Second); l.underWay() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	l.timed.Store(false)
	l.report(&r)
	return r
}

func (l *loader) report(r *loadReport) {
	push, ack := hdrhistogram.New(1, 60_000_000, 3), hdrhistogram.New(1, 60_000_000, 3)
	for i := range l.shares {
		s := &l.shares[i]
		s.Lock()
		push.Merge(s.push)
		ack.Merge(s.ack)
		s.Unlock()
	}
	r.Push.of(push)
	r.Ack.of(ack)
	r.Shown, r.Superseded = l.shown.Load(), l.superseded.Load()
	if text := l.refused.Load(); text != nil {
		r.Refused = *text
	} else if left := l.underWay(); left > 0 {
		r.Refused = fmt.Sprintf("%d fixes were never acknowledged", left)
	}
}

func (l *loader) sent() (n int64) {
	for _, c := range l.clients {
		c.mu.Lock()
		n += int64(c.sent)
		c.mu.Unlock()
	}
	return n
}

func (l *loader) underWay() (n int64) {
	for _, c := range l.clients {
		c.mu.Lock()
		n += int64(c.sent - c.acked)
		c.mu.Unlock()
	}
	return n
}

// closedLoop keeps a number of fixes under way.
func (c *loadClient) closedLoop(t *town, inFlight int, stop <-chan struct{}) {
	for len(c.room) > 0 {
		<-c.room
	}
	for range inFlight {
		c.room <- struct{}{}
	}
	for {
		select {
		case <-stop:
			return
		case <-c.room:
			if err := c.fix(t, time.Since(c.l.begun)); err != nil {
				c.l.refuse(err.Error())
				return
			}
		}
	}
}

// openLoop sends the fixes of every so many-th user when they are due, late ones
// at once.
func (l *loader) openLoop(t *town, n, pacers int, rate float64, stop <-chan struct{}) {
	first := time.Since(l.begun)
	for k := n; ; k += pacers {
		due := first + time.Duration(float64(k)/rate*float64(time.Second))
		if wait := due - time.Since(l.begun); wait > 0 {
			time.Sleep(wait)
		}
		select {
		case <-stop:
			return
		default:
		}
		if err := l.clients[k%len(l.clients)].fix(t, due); err != nil {
			l.refuse(err.Error())
			return
		}
	}
}

func (l *loader) refuse(text string) { l.refused.CompareAndSwap(nil, &text) }

// fix sends the next step of the client's walk, which was due at a time.
func (c *loadClient) fix(t *town, due time.Duration) error {
	c.mu.Lock()
	c.sent++
	seq := c.sent
	c.ts = max(time.Now().UnixMilli(), c.ts+1) // tells the fixes of a user apart
	ts := c.ts
	c.fixes[seq%remembered] = sentFix{ts, due}
	c.mu.Unlock()
	c.frame = appendFix(c.frame[:0], t.at(c.number, int(seq)), seq, ts)
	return c.send(c.frame)
}

var (
	friendsType = []byte(`{"type":"friends"`)
	ackType     = []byte(`{"type":"ack"`)
	seqKey      = []byte(`"seq":`)
	userKey     = []byte(`"user":"user`)
	tsKey       = []byte(`"ts":`)
)

// read takes what the server sends until the socket is closed.
func (c *loadClient) read() {
	for {
		b, err := c.next()
		if err != nil {
			c.l.refuse(fmt.Sprintf("socket of user %d: %v", c.number+1, err))
			return
		}
		now := time.Since(c.l.begun)
		switch {
		case bytes.HasPrefix(b, friendsType):
			c.onFriends(b, now)
		case bytes.HasPrefix(b, ackType):
			seq, _, _ := numberAfter(b, seqKey)
			c.onAck(uint64(seq), now)
		default:
			c.l.refuse(string(b))
		}
	}
}

func (c *loadClient) onAck(seq uint64, now time.Duration) {
	share := &c.l.shares[c.number%len(c.l.shares)]
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq <= c.acked {
		return
	}
	n := seq - c.acked
	if c.l.timed.Load() {
		share.Lock()
		for s := max(c.acked, seq-min(seq, remembered)) + 1; s <= seq; s++ {
			_ = share.ack.RecordValue(int64((now - c.fixes[s%remembered].due) / time.Microsecond))
		}
		share.Unlock()
	}
	c.acked = seq
	c.l.acked.Add(int64(n))
	for range n {
		select {
		case c.room <- struct{}{}:
		default:
		}
	}
}

// onFriends notes which fixes of friends are shown for the first time.
func (c *loadClient) onFriends(b []byte, now time.Duration) {
	for {
		user, rest, ok := numberAfter(b, userKey)
		if !ok {
			return
		}
		ts, rest, ok := numberAfter(rest, tsKey)
		if !ok {
			return // what follows has gone
		}
		b = rest
		c.shown(user, ts, now)
	}
}

// shown notes the fix of a friend with time ts, and those before it that were
// superseded on the way. A fix counts as shown when it or a later one is.
func (c *loadClient) shown(user, ts int64, now time.Duration) {
	friend := c.l.clients[user-1]
	last := c.seen[user]
	friend.mu.Lock()
	seq := friend.sent
	for seq > last && friend.sent-seq < remembered && friend.fixes[seq%remembered].ts != ts {
		seq--
	}
	fresh := seq > last && friend.sent-seq < remembered
	var due []time.Duration
	if fresh && last > 0 && c.l.timed.Load() {
		for s := max(last, seq-min(seq, remembered/2)) + 1; s <= seq; s++ {
			due = append(due, friend.fixes[s%remembered].due)
		}
	}
	friend.mu.Unlock()
	if !fresh {
		return
	}
	c.seen[user] = seq
	if len(due) == 0 {
		return
	}
	c.l.shown.Add(int64(len(due)))
	c.l.superseded.Add(int64(len(due) - 1))
	share := &c.l.shares[c.number%len(c.l.shares)]
	share.Lock()
	defer share.Unlock()
	for _, d := range due {
		_ = share.push.RecordValue(int64((now - d) / time.Microsecond))
	}
}
