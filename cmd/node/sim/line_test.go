package sim

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo answers with what it gets, and counts the connections that it has.
func echo(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-over
	})
	return ln
}

func say(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Write([]byte("x"))
	require.NoError(t, err)
}

func hear(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err := io.ReadFull(c, make([]byte, 1))
	require.NoError(t, err)
}

func TestLine_Cut(t *testing.T) {
	ln := echo(t)
	var l line
	c, err := l.dial(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	say(t, c)
	hear(t, c)
	l.cut()
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = l.dial(t.Context(), "tcp", ln.Addr().String())
	require.ErrorIs(t, err, errNoNetwork)
	l.lift()
	c, err = l.dial(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	say(t, c)
	hear(t, c)
	l.lift()
	say(t, c)
	hear(t, c)
	require.NoError(t, c.Close())
}

func TestLine_Freeze(t *testing.T) {
	ln := echo(t)
	var l line
	c, err := l.dial(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	say(t, c) // it comes back, or the line is frozen before
	l.freeze()
	say(t, c)
	_, err = l.dial(t.Context(), "tcp", ln.Addr().String())
	require.ErrorIs(t, err, errNoNetwork)
	l.lift()
	if err := <-read; err != nil {
		require.True(t, errors.Is(err, net.ErrClosed))
	}
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed, "what was frozen does not come back")
	c, err = l.dial(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	say(t, c)
	hear(t, c)
	require.NoError(t, c.Close())
}

// A frozen line holds back what has already come, and ends with the connection.
func TestLine_FrozenReadsEndWithTheConnection(t *testing.T) {
	ln := echo(t)
	var l line
	c, err := l.dial(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	say(t, c)
	l.freeze()
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	select {
	case err := <-read:
		t.Fatalf("a frozen line let something through: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	l.cut()
	require.ErrorIs(t, <-read, net.ErrClosed)
}
