package kith

import (
	"errors"
	"fmt"

	"github.com/coder/websocket"
)

// verdict is what a close code asks of a client.
type verdict uint8

const (
	again    verdict = iota // reconnect after a pause
	atOnce                  // reconnect now
	newToken                // reconnect, but not with the same token
	never                   // do not reconnect
)

const (
	codeUnauthorized = 4001
	codeExpired      = 4002
)

// ClosedError says that the server closed for good.
type ClosedError struct {
	Code   int
	Reason string
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("the server closed the connection for good: %d %s", e.Code, e.Reason)
}

// judge reads the close code out of the error with which a connection ended.
func judge(err error) (verdict, *ClosedError) {
	var closed websocket.CloseError
	if !errors.As(err, &closed) {
		return again, nil
	}
	e := &ClosedError{Code: int(closed.Code), Reason: closed.Reason}
	switch code := e.Code; {
	case code == codeUnauthorized || code == codeExpired:
		return newToken, e
	case code >= 4000 && code < 4100:
		return never, e
	case code >= 4200 && code < 4300:
		return atOnce, e
	case code == int(websocket.StatusMessageTooBig), code == int(websocket.StatusInvalidFramePayloadData), code == int(websocket.StatusProtocolError):
		return never, e // the same frames would follow
	}
	return again, e
}
