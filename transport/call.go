package transport

import (
	"context"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// call is one answer that is owed, or an open listen.
type call struct {
	id      jsonrpc.ID // zero if it could not be read
	weight  int        // bytes it stands for while it is in flight
	batch   *batch     // nil outside of one
	refusal error      // why it is refused, if that is known before it is admitted; no cancellation reaches it then

	// What it asks, let go of when it is answered, which is the larger part of its weight.
	msg jsonrpc.Message
	req request // set once msg has been routed

	ctx   context.Context    // of the work, set for what is served concurrently
	stop  context.CancelFunc // ends ctx
	lane  *lane              // set for what is ordered
	opens *carrier           // set by initialize: the stream that may speak once the answer is on its way

	reads  bool  // it may wait for memory
	memory share // of what serves the call, then guarded like the answer

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

// batch is a set of calls that arrived in one array and are answered in one: "the Server should respond with an Array
// containing the corresponding Response objects, after all of the batch Request objects have been processed" (JSON-RPC
// 2.0, section 6). Nothing is sent if no call is left.
type batch struct {
	// Guarded by inflight.mu, and the writer's alone once inflight.next has returned one of the calls.
	calls []*call     // those that were cancelled are taken out
	spent bool        // its answers have become too large, the rest is refused
	link  link[*call] // among the answers, once all calls are answered
}

// errBatchTooLarge answers the calls of a batch for which there is no memory. A batch cannot be written before all of it
// is answered, so waiting would be of no use.
var errBatchTooLarge = jsonrpc.Errorf(jsonrpc.InternalError, "the answers to batches are too large together: ask for this one outside of a batch")

// lane is the ordered calls of one session: each starts when the one before it is done, and none keeps a worker while
// it waits. It is guarded by inflight.mu.
type lane struct {
	head *call // waits for a worker or is worked on
	rest queue[*call]
}
