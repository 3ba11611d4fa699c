package main

import (
	"errors"
	"log/slog"
	"net"
	"slices"
	"syscall"
	"time"
)

// doorway is a listener that outlives what passes, and says when it can let nobody in for want of descriptors or memory. An
// http.Server tries again for as long as that lasts, among whose complaints of clients it would be lost.
type doorway struct {
	net.Listener
	log    *slog.Logger
	failed time.Time // when it last could not; Accept is called by one goroutine
}

// wellFor is how long nothing may have failed until a failure is news: as descriptors come and go it lets in one client and
// not the next.
const wellFor = time.Minute

// scarce says that the machine is short of something, strayed that a connection was lost before it was let in: "for reliable
// operation the application should detect the network errors defined for the protocol after accept() and treat them like
// EAGAIN by retrying" (accept(2) of Linux, which has EPERM for a firewall). The others mean the listener.
var (
	scarce  = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
	strayed = []syscall.Errno{syscall.ENETDOWN, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
		syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.EPERM}
)

// Accept implements [net.Listener].
func (d *doorway) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	var cause syscall.Errno
	switch {
	case !errors.As(err, &cause):
	case slices.Contains(scarce, cause):
		d.tell(cause)
		err = passing{err}
	case slices.Contains(strayed, cause):
		err = passing{err}
	}
	return conn, err
}

// tell warns, unless that was done lately.
func (d *doorway) tell(cause syscall.Errno) {
	now := time.Now()
	if d.failed.IsZero() || now.Sub(d.failed) >= wellFor {
		var hint []any
		if cause == syscall.EMFILE || cause == syscall.ENFILE {
			hint = []any{hintKey, "raise the limit of open files, see ulimit -n, or lower --max-listens"}
		}
		d.log.Warn("nobody else can connect for now: "+cause.Error(), hint...)
	}
	d.failed = now
}

// passing is an error upon which an http.Server tries again, which knows but a few of them.
type passing struct{ error }

// Timeout implements [net.Error].
func (passing) Timeout() bool { return false }

// Temporary implements [net.Error].
func (passing) Temporary() bool { return true }

func (p passing) Unwrap() error { return p.error }
