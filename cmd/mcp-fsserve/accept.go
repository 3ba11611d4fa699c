package main

import (
	"errors"
	"log/slog"
	"net"
	"syscall"
	"time"
)

// doorway is a listener that says when it can let nobody in for want of descriptors. An http.Server tries again for as long as
// that lasts, among whose complaints of clients it would be lost.
type doorway struct {
	net.Listener
	log    *slog.Logger
	failed time.Time // when it last could not; Accept is called by one goroutine
}

// wellFor is how long nothing may have failed until a failure is news: as descriptors come and go it lets in one client and
// not the next.
const wellFor = time.Minute

// Accept implements [net.Listener].
func (d *doorway) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		now := time.Now()
		if d.failed.IsZero() || now.Sub(d.failed) >= wellFor {
			var cause syscall.Errno
			errors.As(err, &cause)
			d.log.Warn("nobody else can connect for now: "+cause.Error(), hintKey, "raise the limit of open files, see ulimit -n, or lower --max-listens")
		}
		d.failed = now
	}
	return conn, err
}
