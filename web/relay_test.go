package web

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// relay is a network between a browser and a node that can be cut. It carries
// bytes and knows nothing of them.
type relay struct {
	to string // HOST:PORT
	ln net.Listener

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	over  sync.WaitGroup
}

func newRelay(t *testing.T, url string) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{to: strings.TrimPrefix(url, "http://"), ln: ln, conns: map[net.Conn]bool{}}
	r.over.Add(1)
	go r.accept()
	t.Cleanup(func() {
		_ = ln.Close()
		r.setCut(true)
		r.over.Wait()
	})
	return r
}

func (r *relay) url() string { return "http://" + r.ln.Addr().String() }

func (r *relay) accept() {
	defer r.over.Done()
	for {
		near, err := r.ln.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.to)
		if err != nil || !r.keep(near, far) {
			_ = near.Close()
			if far != nil {
				_ = far.Close()
			}
			continue
		}
		r.over.Add(2)
		go r.carry(near, far)
		go r.carry(far, near)
	}
}

// keep notes two connections, unless the network is cut.
func (r *relay) keep(near, far net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.cut {
		r.conns[near], r.conns[far] = true, true
	}
	return !r.cut
}

func (r *relay) carry(to, from net.Conn) {
	defer r.over.Done()
	_, _ = io.Copy(to, from) // either end may close
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		_ = c.Close()
		delete(r.conns, c)
	}
}

// setCut ends every connection and takes no new ones, or takes them again.
func (r *relay) setCut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	if !cut {
		return
	}
	for c := range r.conns {
		_ = c.Close()
	}
}
