package transport

import "github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"

// call is one answer that is owed, or an open listen.
type call struct {
	id      jsonrpc.ID // zero if it could not be read
	weight  int        // bytes it stands for while it is in flight
	batch   *batch     // nil outside of one
	kept    bool       // who has read it serves it, and writes the answer
	refusal error      // why it is refused, if that is known before it is admitted; no cancellation reaches it then

	// What it asks: most of its weight, so it is let go of with the answer.
	msg jsonrpc.Message
	req request // set once msg has been routed

	ctx   workContext // set for what is served concurrently
	lane  *lane       // set for what is ordered
	opens *carrier    // set by initialize: the stream that may speak once the answer is on its way

	memory share // of a read: what serves the call owns it, then it is guarded like the answer; else zero

	// The rest is guarded by inflight.mu, and the writer's alone once inflight.next has returned the call.
	state  state
	link   link[*call] // in its lane, among those that wait for a worker, or among the answers
	frame  *[]byte     // the answer, set in state answered; nil if it was refused with the rest of its batch
	stream *carrier    // the open stream, set in state listening
}

// state is how far a call has come.
type state uint8

const (
	accepted  state = iota // waits for its turn, or is with the reader
	working                // a goroutine serves it
	silenced               // a goroutine serves it, but it was cancelled
	answered               // its answer waits to be written, or for the rest of its batch
	listening              // its stream is open
	gone                   // nothing is owed any more
)

// baseWeight is what a call costs in bytes besides its line: itself, its parameters by name and the memory of a small
// answer.
const baseWeight = 3 << 10

// size is the length of the answer that waits.
func (c *call) size() int {
	if c.frame == nil {
		return 0
	}
	return len(*c.frame)
}
