package verify

import (
	"encoding/json"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// Recording is what happened between a server and the probe, in order.
type Recording struct {
	HTTP     bool          // else a pipe to a command
	Patience time.Duration // how long the probe waits for what must come
	Serves   Capabilities  // as the server says of itself
	Expired  time.Duration // after how long the probe had to stop before all was tried, 0: it was done
	Entries  []Entry
}

// Capabilities are those of server/discover that listens depend on.
type Capabilities struct {
	Known bool // server/discover was answered

	Tools, Prompts, Resources bool // listChanged of that
	Subscribe                 bool // subscribe of resources

	HasResources bool // there are resources
}

// Kind says what an entry is.
type Kind int

// Kinds of entries. Those of what the probe does are written down before it is done, so that what it causes comes after.
const (
	Sent     Kind = iota // Message was sent, as the request ID unless that is nil
	Received             // Message came, over HTTP in the answer to Request
	Broken               // something came that is no message; Err says what
	Ended                // the answer to Request or, if that is nil, the pipe; Err says why, nil: in order
	Cancel               // the request ID is cancelled
	Heard                // a request that was sent after all cancels so far has been answered, and a while has passed
	GaveUp               // the wait for the acknowledgement of the listen ID, or for the answer to the request ID, is over
	Changing             // something begins to change: Change says what
	Shown                // the server's answers show that Change
	Restless             // the server's answers are different each time, so that they cannot show that Change
	Settled              // the wait for what listens say of Change is over
	Stalled              // nothing more is read from the connection
	Released             // it is read again
	Closing              // the connection is ended: of a pipe, the input
	Dropped              // the connection is given up, since it is of no use any more
	Closed               // it has ended; Err says how the command left
)

func (k Kind) String() string {
	return [...]string{"sent", "received", "received what is no message", "ended", "cancelled", "cancels must have been heard", "gave up",
		"changing", "the change shows", "the change cannot show", "the change is settled", "stalled", "released", "closing", "dropped", "closed"}[k]
}

// Part says what a request is for, as far as rules distinguish.
type Part int

// Parts that requests have.
const (
	Plain     Part = iota
	Malformed      // a listen that has to be refused
	Crowd          // one of more listens than a server must put up with
	Cut            // one of many listens that are opened and cut
	Early          // timed, before many listens were opened and cut
	Late           // timed, after that
	Baggage        // a listen that asks for a lot, so that its acknowledgement fills what is between two programs
	Identity       // a listen whose id is put to the test
)

// Entry is one thing that happened.
type Entry struct {
	At      time.Time
	Conn    int // the connection, from 1
	Kind    Kind
	Part    Part            // of Sent
	ID      json.RawMessage // of Sent, Cancel and GaveUp: as it went on the wire
	Request json.RawMessage // of Received, Broken and Ended, over HTTP: whose answer it came in
	Message *wire.Message   // of Sent and Received
	Err     error
	Change  *Change // of Changing, Shown, Restless and Settled; the same one in all of them
}

// Change is something that listens have to tell.
type Change struct {
	// Own is a time in which the server says things by itself; else the probe does something.
	Own  bool
	What Subject
}

// Subject is what a notification tells of: the kind of it and, of a resource, which.
type Subject struct {
	Method string
	URI    string // of notifications/resources/updated
}

func (s Subject) String() string {
	if s.URI == "" {
		return s.Method
	}
	return s.Method + " of " + s.URI
}

// Notifications of a listen.
const (
	acknowledged     = "notifications/subscriptions/acknowledged"
	cancelledByPeer  = "notifications/cancelled"
	progress         = "notifications/progress"
	logged           = "notifications/message"
	updated          = "notifications/resources/updated"
	resourcesChanged = "notifications/resources/list_changed"
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
)

const listenMethod = "subscriptions/listen"
