package kith

import (
	"context"
	"errors"
	"time"
)

// onConnected begins: all that is not acknowledged goes out again.
func (s *socket) onConnected(text []byte) error {
	return decode(text, func(m Connected) {
		if s.worked {
			return
		}
		c := s.client
		s.worked = true
		s.maxFrame = m.Config.MaxFrameBytes
		if ping := time.Duration(m.Config.PingS * float64(time.Second)); ping > 0 {
			s.silence = 2*ping + dialTimeout
		}
		c.mu.Lock()
		c.connected = true
		c.stats.Connections++
		c.pending.rewind()
		c.mu.Unlock()
		close(s.ready)
		if c.opt.OnConnected != nil {
			c.opt.OnConnected(m)
		}
	})
}

func (s *socket) onFriends(text []byte) error {
	return decode(text, func(m Friends) {
		if m.V <= s.v {
			return
		}
		s.v = m.V
		c := s.client
		c.mu.Lock()
		if m.Full {
			c.view = make(map[string]Friend, len(m.Near))
		}
		for _, g := range m.Gone {
			delete(c.view, g.User)
		}
		for _, f := range m.Near {
			c.view[f.User] = f
		}
		c.mu.Unlock()
		if c.opt.OnFriends != nil {
			c.opt.OnFriends(m)
		}
	})
}

func (s *socket) onAck(text []byte) error {
	return decode(text, func(m Ack) {
		c := s.client
		c.settle(func(c *Client) {
			before := len(c.pending.fixes)
			c.pending.acked(m.Seq)
			c.stats.Acked += uint64(before - len(c.pending.fixes))
		})
		if c.opt.OnAck != nil {
			c.opt.OnAck(m)
		}
	})
}

// onError ends the command or the fix that it is about. A fix that the server
// cannot take at the moment goes out again a little later.
func (s *socket) onError(text []byte) error {
	again := false
	err := decode(text, func(m ServerError) {
		c := s.client
		asked := m.ID != "" && c.answered(m.ID, &m)
		if m.Seq != nil {
			c.settle(func(c *Client) {
				found, reconnect := c.pending.refused(*m.Seq, m.Temporary)
				if found && !m.Temporary {
					c.stats.Refused++
				}
				again = reconnect
			})
			if m.Temporary {
				c.nudge() // the sender sets its clock for the repetition
			}
		}
		if !asked && c.opt.OnError != nil {
			c.opt.OnError(&m)
		}
	})
	if err == nil && again {
		err = errAgain
	}
	return err
}

// errAgain ends a connection on which a fix was refused for the moment that may
// be stored already: an ack of a later one would cover it.
var errAgain = errors.New("a fix that was sent before is refused for the moment")

// settle changes what is pending and wakes who waits for it in Flush.
func (c *Client) settle(change func(*Client)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
	close(c.empty)
	c.empty = make(chan struct{})
}

// onExpiring sends a fresh token, if there is one; without it the server closes.
func (s *socket) onExpiring(ctx context.Context) {
	token, err := s.client.opt.Token(ctx)
	if err != nil {
		return
	}
	s.client.mu.Lock()
	s.client.token = token
	s.client.mu.Unlock()
	s.put(ctx, encode(map[string]any{"type": "token", "token": token}))
}

func (s *socket) onNotice(text []byte, op string) error {
	return decode(text, func(n Notice) {
		if op != "" {
			n.Op = op
		}
		if s.client.opt.OnNotice != nil {
			s.client.opt.OnNotice(n)
		}
	})
}
