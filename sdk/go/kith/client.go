package kith

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Options says how a Client connects. URL and Token are needed.
type Options struct {
	URL    string                                    // ws://HOST:PORT/v1/ws
	Token  func(ctx context.Context) (string, error) // called for each connection, and before a token ends
	Device string                                    // 1 to 64 characters; "" = the server's default
	Radius float64                                   // metres; 0 = the server's default
	Buffer int                                       // fixes kept without an acknowledgement; 0 = 10 000
	PerS   float64                                   // frames with fixes sent a second, for long; 0 = 4, below the server's default. More fixes share a frame
	HTTP   *http.Client                              // for the handshake; nil = the default one

	// The handlers are called from one goroutine, in the order of the frames;
	// each may be nil. They must not wait long: nothing is read meanwhile.
	OnConnected func(Connected)
	OnFriends   func(Friends)
	OnAck       func(Ack)
	OnNotice    func(Notice)
	OnError     func(*ServerError)
	OnClosed    func(err error) // each time that a connection ended or none came about
}

// Stats counts what a Client has done.
type Stats struct {
	Connections uint64
	Acked       uint64 // fixes
	Refused     uint64 // fixes
	Dropped     uint64 // fixes that found no room
	Pending     int    // fixes without an acknowledgement
}

// Client is one device of one user. Its methods may be called at any time, also
// without a connection.
type Client struct {
	opt    Options
	pauses pauses
	pace   *rate.Limiter // of frames with fixes

	mu        sync.Mutex
	pending   pending
	view      map[string]Friend
	seq       uint64
	still     bool // to be sent
	token     string
	connected bool
	stats     Stats
	calls     map[string]chan error // commands that wait for their answer
	callID    uint64
	commands  [][]byte

	wake  chan struct{} // there is something to send
	empty chan struct{} // closed and replaced whenever pending may have become empty
}

// Limits of what a Client keeps and sends.
const (
	defaultBuffer = 10_000
	defaultPerS   = 4
	frameBurst    = 20
	mostCommands  = 64
)

// New returns a Client; Run makes it work.
func New(opt Options) *Client {
	if opt.Buffer <= 0 {
		opt.Buffer = defaultBuffer
	}
	if opt.PerS <= 0 {
		opt.PerS = defaultPerS
	}
	return &Client{
		opt:     opt,
		pace:    rate.NewLimiter(rate.Limit(opt.PerS), frameBurst),
		pauses:  pauses{rand: rand.Float64},
		pending: pending{most: opt.Buffer},
		view:    map[string]Friend{},
		// Seq rises per device over restarts of the program too.
		seq:   uint64(time.Now().UnixMilli()),
		calls: map[string]chan error{},
		wake:  make(chan struct{}, 1),
		empty: make(chan struct{}),
	}
}

// ErrFix says that a fix holds NaN or an infinity, which JSON cannot carry.
var ErrFix = errors.New("kith: a field of the fix is not a finite number")

// Fix queues one position report and returns its Seq. A TS of 0 becomes now.
func (c *Client) Fix(f Fix) (uint64, error) {
	if !finite(&f.Lat, &f.Lng, f.Accuracy, f.Altitude, f.Speed, f.Heading, f.Battery) {
		return 0, ErrFix
	}
	if f.TS == 0 {
		f.TS = time.Now().UnixMilli()
	}
	c.mu.Lock()
	c.seq++
	f.Seq = c.seq
	c.pending.add(f)
	c.mu.Unlock()
	c.nudge()
	return f.Seq, nil
}

func finite(values ...*float64) bool {
	for _, v := range values {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return false
		}
	}
	return true
}

// Still says that the device has not moved. Without a connection it says
// nothing later: only the newest word counts.
func (c *Client) Still() {
	c.mu.Lock()
	c.still = c.connected
	c.mu.Unlock()
	c.nudge()
}

// Resend sends again, on the connection that there is, all that is not yet
// acknowledged, as after a doubt whether it went out. The server removes doubles.
func (c *Client) Resend() {
	c.mu.Lock()
	c.pending.rewind()
	c.mu.Unlock()
	c.nudge()
}

// View returns who is near, by user.
func (c *Client) View() map[string]Friend {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.view)
}

// All goes through who is near without a copy. Nothing of the Client may be
// called before it ends: it holds the lock.
func (c *Client) All() iter.Seq[Friend] {
	return func(yield func(Friend) bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range c.view {
			if !yield(f) {
				return
			}
		}
	}
}

// Stats returns what has been counted so far.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Dropped, s.Pending = c.pending.dropped, c.pending.len()
	return s
}

// Flush waits until every fix is acknowledged, refused or dropped.
func (c *Client) Flush(ctx context.Context) error {
	for {
		c.mu.Lock()
		left, changed := c.pending.len(), c.empty
		c.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Run connects, and connects again, until ctx ends (nil) or the server closes
// for good (ClosedError) or no token is to be had.
func (c *Client) Run(ctx context.Context) error {
	for {
		began := time.Now()
		worked, err := c.connection(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if c.opt.OnClosed != nil {
			c.opt.OnClosed(err)
		}
		what, closed := judge(err)
		switch {
		case errors.Is(err, errToken):
			return err
		case what == never:
			return closed
		case what == newToken && !c.fresher(ctx):
			return closed
		}
		pause := c.pauses.next(time.Since(began), what == atOnce, worked)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// fresher reports whether a token other than the refused one is to be had.
func (c *Client) fresher(ctx context.Context) bool {
	token, err := c.opt.Token(ctx)
	return err == nil && token != c.token
}

func (c *Client) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
