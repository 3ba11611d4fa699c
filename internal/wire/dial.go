package wire

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
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
	if err := t.Check(); err != nil {
		return nil, err
	}
	in := &inlet{receive: receive}
	if t.URL != "" {
		return newHTTP(&t, in)
	}
	return startPipe(&t, in)
}

// Check says what is wrong with a target for good, however often it is dialled. The error leaves out a password.
func (t *Target) Check() error {
	switch {
	case len(t.Command) > 0 && t.URL != "":
		return errors.New("a server is a command or a URL, not both")
	case len(t.Command) == 0 && t.URL == "":
		return errors.New("no server: neither a command nor a URL")
	case t.URL == "":
		if t.Command[0] == "" {
			return errors.New("the command of the server is empty")
		}
		return nil
	}
	u, err := url.Parse(t.URL)
	switch {
	case err != nil && strings.Contains(t.URL, "@"): // what was not understood may be part of a password
		return errors.New("the URL of the server makes no sense: look at its host, and percent-encode what is special in its password")
	case err != nil:
		return fmt.Errorf("the URL of the server makes no sense: %w", bare(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		if strings.Contains(t.URL, "@") { // a password may be anywhere, as in me:password@host, which has no scheme
			return errors.New("the URL of a server begins with http:// or https:// and a host")
		}
		return fmt.Errorf("the URL of a server begins with http:// or https:// and a host, not %q", t.URL)
	}
	return nil
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
