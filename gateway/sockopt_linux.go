package gateway

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unsent is how many bytes written to nc the other side has not acknowledged;
// 0 if that cannot be known.
func unsent(nc net.Conn) (n int) {
	control(nc, func(fd int) { n, _ = unix.IoctlGetInt(fd, unix.SIOCOUTQ) })
	return n
}

// giveUpAfter ends nc when what was written is not acknowledged, or waits for
// room at the other side, for so long.
func giveUpAfter(nc net.Conn, d time.Duration) {
	control(nc, func(fd int) {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
}

// openFiles is how many file descriptors the process may have; 0 = not known.
func openFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(l.Cur, 1<<30))
}
