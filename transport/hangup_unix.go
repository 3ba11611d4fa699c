//go:build unix

package transport

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether nobody will write to the input any more, although not all of it has been read. It is false of
// what is no file.
func hungUp(in io.Reader) (gone bool) {
	file, ok := in.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) {
		asked := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP is told unasked
		n, err := unix.Poll(asked, 0)
		gone = err == nil && n == 1 && asked[0].Revents&unix.POLLHUP != 0
	})
	return gone && err == nil
}
