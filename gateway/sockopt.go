package gateway

import (
	"net"
	"syscall"
)

// control calls f with the file descriptor under nc, TLS or not, if it has one.
func control(nc net.Conn, f func(fd int)) {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = t.NetConn()
	}
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { f(int(fd)) })
}
