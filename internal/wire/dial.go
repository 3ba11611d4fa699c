package wire

import (
	"context"
	"errors"
	"sync"
	"time"
)

// MaxMessage is the length in bytes above which a message is not taken, unless a [Target] says another.
const MaxMessage = 64 << 20

// Dial makes the way to a server: it starts the command, or looks whether the URL can be one; no connection is made before
// the first message. ctx bounds Dial alone. What arrives is given to receive, which must neither block nor call the Conn.
func Dial(ctx context.Context, t Target, receive func(Event)) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.MaxMessage == 0 {
		t.MaxMessage = MaxMessage
	}
	if t.Leave == 0 {
		t.Leave = leaveWithin
	}
	if t.Heed == 0 {
		t.Heed = heedWithin
	}
	in := &inlet{receive: receive}
	switch {
	case len(t.Command) > 0 && t.URL != "":
		return nil, errors.New("a server is a command or a URL, not both")
	case len(t.Command) > 0:
		return startPipe(&t, in)
	case t.URL != "":
		return newHTTP(&t, in)
	}
	return nil, errors.New("no server: neither a command nor a URL")
}

// inlet calls the receiver, one at a time.
type inlet struct {
	receive func(Event)
	mu      sync.Mutex // held while the receiver is called
	closed  bool
}

// give hands over an event, unless the inlet is closed or stop says so, which is asked under the lock.
func (in *inlet) give(e Event, stop func() bool) {
	e.At = time.Now()
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed && (stop == nil || !stop()) {
		in.receive(e)
	}
}

// close returns when the receiver is not called any more.
func (in *inlet) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
}
