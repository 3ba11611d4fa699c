package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

var (
	// ErrClosed reports a Conn that was closed, or a pipe whose server has left.
	ErrClosed = errors.New("the connection to the server is closed")
	// ErrUnanswered reports a stream that ended before the answer to its request.
	ErrUnanswered = errors.New("the server ended the stream before it answered")
	// ErrNoStream reports an answer to Follow that is in order, and no stream.
	ErrNoStream = errors.New("the server answered GET with something else than a stream")
	// ErrForced reports a command that had to be ended by a signal.
	ErrForced = errors.New("ended by force, since it did not leave when its input ended")
)

// FrameError says what is wrong with something that came in place of a message. More may follow it.
type FrameError struct {
	Raw    []byte // its beginning
	Reason string
	// TooLong says that it was above the limit, which is no fault of its form. ID is then its id, if that was seen.
	TooLong bool
	ID      json.RawMessage
}

func (e *FrameError) Error() string {
	if len(e.Raw) == 0 {
		return "the server sent what is no message: " + e.Reason
	}
	return fmt.Sprintf("the server sent what is no message: %s: %q", e.Reason, e.Raw)
}

func frameError(raw []byte, format string, args ...any) *FrameError {
	return &FrameError{Raw: []byte(jsonrpc.Clip(string(raw[:min(len(raw), 256)]))), Reason: fmt.Sprintf(format, args...)}
}

// tooLong is the error of what was above the limit, of which the beginning and the end are known.
func tooLong(beginning, end []byte, limit int) *FrameError {
	e := frameError(beginning, "it is longer than %d bytes", limit)
	e.TooLong = true
	for _, m := range [][][]byte{idFirst().FindSubmatch(beginning), idLast().FindSubmatch(end)} {
		if m != nil {
			e.ID = slices.Clone(m[1])
			break
		}
	}
	return e
}

// idFirst and idLast see the id of an answer where servers put it: before the result, or after it. They are compiled for the
// first answer that is too long, which few processes meet.
var (
	idFirst = expression(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+)\s*,`)
	idLast  = expression(`[\]}"]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// StatusError is an answer over HTTP whose status says that it is not what was asked for, and whose body is no message.
type StatusError struct {
	Status    int
	Body      string // its beginning
	Challenge string // of WWW-Authenticate

	RetryAfter time.Duration // as the server asks, 0: it does not
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered with status %d", e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Body != "" {
		text += fmt.Sprintf(": %q", e.Body)
	}
	return text
}
