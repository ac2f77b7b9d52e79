package kith

import (
	"context"
	"errors"
	"strconv"
)

// Errors of what waits for an answer: Friend, Share and SetRadius.
var (
	ErrNotConnected = errors.New("kith: there is no connection")
	ErrTooMany      = errors.New("kith: too many commands wait for their answer")
)

// Friend carries out a friend operation (request, accept, decline, remove,
// block, unblock) and waits for the answer.
func (c *Client) Friend(ctx context.Context, op, user string) error {
	return c.do(ctx, map[string]any{"type": "friend", "op": op, "user": user})
}

// Share sets how one friend ("" = everyone) sees this user, until a unix time in
// milliseconds (0 = no end), and waits for the answer.
func (c *Client) Share(ctx context.Context, user, mode string, until int64) error {
	frame := map[string]any{"type": "share", "mode": mode}
	if user != "" {
		frame["user"] = user
	}
	if until != 0 {
		frame["until"] = until
	}
	return c.do(ctx, frame)
}

// SetRadius changes how far this user sees, in metres, and waits for the answer.
// It holds for this connection and those after it.
func (c *Client) SetRadius(ctx context.Context, metres float64) error {
	c.mu.Lock()
	c.opt.Radius = metres
	c.mu.Unlock()
	return c.do(ctx, map[string]any{"type": "radius", "radius_m": metres})
}

// do sends one frame with an id and waits for its ok (nil) or error
// (*ServerError). A connection that ends meanwhile leaves the outcome unknown
// and gives ErrNotConnected.
func (c *Client) do(ctx context.Context, frame map[string]any) error {
	c.mu.Lock()
	switch {
	case !c.connected:
		c.mu.Unlock()
		return ErrNotConnected
	case len(c.calls) >= mostCommands:
		c.mu.Unlock()
		return ErrTooMany
	}
	c.callID++
	id := strconv.FormatUint(c.callID, 10)
	frame["id"] = id
	answer := make(chan error, 1)
	c.calls[id] = answer
	c.commands = append(c.commands, encode(frame))
	c.mu.Unlock()
	c.nudge()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		return ctx.Err()
	}
}

// answered hands an answer to whoever waits for it, and reports whether anybody
// does.
func (c *Client) answered(id string, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok := c.calls[id]
	if ok {
		answer <- err
		delete(c.calls, id)
	}
	return ok
}
