package wire

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// Target says where a server is: a command to start, or a URL.
type Target struct {
	Command []string  // the program and its arguments
	Env     []string  // as in exec.Cmd, nil: that of this process
	Dir     string    // in which the command starts, empty: that of this process
	Stderr  io.Writer // takes what the command says on standard error, nil: nobody does

	// Leave is how long a command may take to leave once its input has ended, before SIGTERM tells it to, and a server over
	// HTTP to end a session; 0: 5 s.
	Leave time.Duration
	// Heed is how long it may take from then on, before it is killed; 0: 2 s.
	Heed time.Duration

	// MaxMessage is the length in bytes above which a message is not taken, 0: [MaxMessage].
	MaxMessage int

	URL    string       // of the endpoint, if there is no command
	Header http.Header  // sent with each request, such as Authorization
	Client *http.Client // nil: one without a timeout, which follows redirects within the host only
}

// Message is one message that the server sent.
type Message struct {
	Raw    []byte // as it came, without the framing
	ID     json.RawMessage
	Method string
	Params json.RawMessage // nil if there are none
	Result json.RawMessage
	Error  *jsonrpc.Error
}

// Event is something that arrived: a message; an end; something that is no message (Err is a [*FrameError]); or, if none of
// these, a sign of life, such as a comment or the headers of a stream over HTTP.
type Event struct {
	At time.Time
	// Request is the id, as sent, of the request on whose answer it arrived over HTTP. It is nil on a pipe, and on the stream
	// that Follow opens.
	Request json.RawMessage
	Message *Message
	// End says that nothing more arrives as the answer to Request or, if that is nil, on the pipe or on what Follow opened.
	End bool
	// Status is that of the answer over HTTP, 0 on a pipe and while there is none.
	Status int
	// RetryAfter is when the server asks to be asked again, of a message over HTTP; 0: it does not. See StatusError.
	RetryAfter time.Duration
	// Err says why it ended, nil: in order. That is for a command that it left with status 0, and over HTTP that the answer
	// came; else it is a [*StatusError], [ErrUnanswered] or what the network says. Without End it is a [*FrameError].
	Err error
}

// Conn is a way to one server.
type Conn interface {
	// Send sends a message, compact JSON without a newline. Over HTTP it is a POST of its own, with the headers of its era:
	// those of 2026-07-28 if its _meta says so, else those of the session that initialize has opened. The answer arrives at
	// the receiver, its end too; so does the failure to send a request, unless ctx ended first. Of a notification or an
	// answer over HTTP Send waits for the status, and nothing arrives. On a pipe a message whose sending outlasts ctx is
	// sent all the same, since half a line would spoil the rest.
	Send(ctx context.Context, message []byte) error
	// Cancel ends a request in the way of the transport: by notifications/cancelled on a pipe, by closing the answer over
	// HTTP. Over HTTP nothing arrives on it any more once Cancel has returned; on a pipe it is up to the server.
	Cancel(ctx context.Context, id json.RawMessage) error
	// Follow opens the stream of what a legacy server says by itself: over HTTP by GET, on a pipe there is nothing to open.
	// It returns once the server has accepted.
	Follow(ctx context.Context) error
	// Close ends everything: it closes the input of a command, waits for it to leave and in the end kills it. The error is
	// that of the command's exit, or [ErrForced]. Nothing arrives after it has returned. Over HTTP it ends a session by DELETE.
	Close(ctx context.Context) error
}
