//go:build unix

package transport

import "golang.org/x/sys/unix"

// trySend writes as much of p as a socket takes at once.
func trySend(fd uintptr, p []byte) (n int, err error) {
	for {
		n, err = unix.Write(int(fd), p)
		switch err {
		case nil:
			return n, nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			return 0, err
		}
	}
}
