package kith

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Times of one connection.
const (
	dialTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	defaultPing  = 25 * time.Second
	repeatAfter  = 2 * time.Second // a fix refused for a moment is sent again after this
	readLimit    = 8 << 20         // bytes of a server's frame: 5 000 friends fit
	subprotocol  = "kith.v1.json"
)

var errToken = errors.New("kith: there is no token")

// connection is one life of the socket. worked says that the server answered the
// connect.
func (c *Client) connection(ctx context.Context) (worked bool, err error) {
	token, err := c.opt.Token(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errToken, err)
	}
	c.mu.Lock()
	c.token = token
	radius := c.opt.Radius
	c.mu.Unlock()
	dialing, stop := context.WithTimeout(ctx, dialTimeout)
	ws, _, err := websocket.Dial(dialing, c.opt.URL, &websocket.DialOptions{HTTPClient: c.opt.HTTP, Subprotocols: []string{subprotocol}})
	stop()
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(readLimit)
	hello := map[string]any{"type": "connect", "token": token}
	if c.opt.Device != "" {
		hello["device"] = c.opt.Device
	}
	if radius != 0 {
		hello["radius_m"] = radius
	}
	s := &socket{client: c, ws: ws, silence: 2 * defaultPing, urgent: make(chan []byte, 8), ready: make(chan struct{})}
	if err := s.write(ctx, encode(hello)); err != nil {
		return false, err
	}
	err = s.run(ctx)
	c.hangUp()
	return s.worked, err
}

// hangUp ends what belonged to the connection that has just ended.
func (c *Client) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connected, c.still, c.commands = false, false, nil
	for id, answer := range c.calls {
		answer <- ErrNotConnected
		delete(c.calls, id)
	}
	c.pending.rewind()
}

// socket is a connection under way: run reads, send writes.
type socket struct {
	client   *Client
	ws       *websocket.Conn
	silence  time.Duration // the longest that the server may say nothing
	maxFrame int
	worked   bool
	v        uint64
	urgent   chan []byte   // pongs and tokens
	ready    chan struct{} // closed by the first `connected`
}

// run ends when the connection does. The end of ctx says goodbye first: a read
// under ctx would cut the line instead.
func (s *socket) run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		defer end() // a socket that cannot be written to is not read either
		if s.send(life, ctx.Done()) {
			_ = s.ws.Close(websocket.StatusNormalClosure, "")
		}
	})
	err := s.read(life)
	end()
	wg.Wait()
	return err
}

// read handles frames until the connection ends.
func (s *socket) read(ctx context.Context) error {
	for {
		quiet, stop := context.WithTimeout(ctx, s.silence)
		_, text, err := s.ws.Read(quiet)
		stop()
		if err != nil {
			return err
		}
		if err := s.frame(ctx, text); err != nil {
			return err
		}
	}
}

// send writes what there is until the connection ends, or until leave: then it
// is to say goodbye.
func (s *socket) send(ctx context.Context, leave <-chan struct{}) (goodbye bool) {
	ready := s.ready
	var wake <-chan struct{} // nothing but the urgent before the server's welcome
	var paced, repeat <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-leave:
			return true
		case text := <-s.urgent:
			if s.write(ctx, text) != nil {
				return false
			}
			continue
		case <-ready:
			ready, wake = nil, s.client.wake
		case <-wake:
		case <-paced:
			paced = nil
		case <-repeat:
			repeat = nil
			s.client.repeat()
		}
		wait, later, err := s.writeAll(ctx)
		if err != nil {
			return false
		}
		if wait > 0 && paced == nil {
			paced = time.After(wait)
		}
		if later && repeat == nil {
			repeat = time.After(repeatAfter)
		}
	}
}

// writeAll writes every frame whose turn has come, and returns how long the next
// has to wait (0 = there is none) and whether fixes are to be repeated later.
func (s *socket) writeAll(ctx context.Context) (wait time.Duration, later bool, err error) {
	for {
		text, wait, later := s.client.takeFrame(s.maxFrame)
		if text == nil {
			return wait, later, nil
		}
		if err := s.write(ctx, text); err != nil {
			return 0, false, err
		}
	}
}

// repeat queues what was refused for the moment.
func (c *Client) repeat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq = c.pending.again(c.seq)
}

// takeFrame returns the next frame to send, or nil, how long fixes have to wait
// for their turn, and whether some were refused for the moment.
func (c *Client) takeFrame(maxFrame int) (text []byte, wait time.Duration, later bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.commands) > 0 {
		text := c.commands[0]
		c.commands = c.commands[1:]
		return text, 0, false
	}
	if c.pending.unsent() {
		turn := c.pace.Reserve()
		if wait = turn.Delay(); wait == 0 {
			return c.pending.next(maxFrame), 0, false
		}
		turn.Cancel()
	}
	if c.still {
		c.still = false
		return encode(map[string]any{"type": "still"}), 0, false
	}
	return nil, wait, len(c.pending.later) > 0
}

func (s *socket) write(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.ws.Write(ctx, websocket.MessageText, text)
}

// frame handles one frame of the server. Types that it does not know are for
// others to read.
func (s *socket) frame(ctx context.Context, text []byte) error {
	var head struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("the server sent what is not JSON: %w", err)
	}
	switch head.Type {
	case "connected":
		return s.onConnected(text)
	case "friends":
		return s.onFriends(text)
	case "ack":
		return s.onAck(text)
	case "ok":
		s.client.answered(head.ID, nil)
	case "error":
		return s.onError(text)
	case "ping":
		s.put(ctx, encode(map[string]any{"type": "pong"}))
	case "expiring":
		s.onExpiring(ctx)
	case "drain":
		return decode(text, func(d drain) { s.client.pauses.suggest(d.RetryAfterMS) })
	case "request":
		return s.onNotice(text, "requested")
	case "friend":
		return s.onNotice(text, "")
	}
	return nil
}

func (s *socket) put(ctx context.Context, text []byte) {
	select {
	case s.urgent <- text:
	case <-ctx.Done():
	}
}

func decode[T any](text []byte, use func(T)) error {
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("the server sent a frame that is not by the protocol: %w", err)
	}
	use(v)
	return nil
}
