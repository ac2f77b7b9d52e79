package sim

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

var errNoNetwork = errors.New("sim: there is no network here")

// line is the network of one phone. It can be cut, so that the other end notices
// at once, or frozen, so that it does not.
type line struct {
	mu      sync.Mutex
	down    bool
	current *wire
}

// wire is one connection of a line.
type wire struct {
	net.Conn
	mu     sync.Mutex
	frozen bool
	closed chan struct{}
	once   sync.Once
}

// client is an HTTP client for this line alone, with small buffers.
func (l *line) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10}}
}

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if l.isDown() {
		return nil, errNoNetwork
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		_ = conn.Close()
		return nil, errNoNetwork
	}
	l.current = w
	return w, nil
}

func (l *line) isDown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down
}

// cut ends the connection and lets no other come about until lift.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	if l.current != nil {
		_ = l.current.Close()
	}
}

// freeze lets nothing through until lift, and tells nobody.
func (l *line) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	if l.current != nil {
		l.current.freeze()
	}
}

// lift makes the line usable again. What was frozen is lost, so its connection
// ends.
func (l *line) lift() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
	if l.current != nil && l.current.isFrozen() {
		_ = l.current.Close()
	}
}

func (w *wire) freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = true
}

func (w *wire) isFrozen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frozen
}

// Read reads. On a frozen line it ends with the connection only.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if w.isFrozen() {
		<-w.closed
		return 0, net.ErrClosed
	}
	return n, err
}

// Write writes, on a frozen line into nothing.
func (w *wire) Write(b []byte) (int, error) {
	if w.isFrozen() {
		return len(b), nil
	}
	return w.Conn.Write(b)
}

// Close ends the connection.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// outage is one loss of the network.
type outage struct {
	frozen bool
	lasts  time.Duration
}
