package transport

import (
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

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

// errOnlyIn20250326 answers a batch of any other revision.
var errOnlyIn20250326 = jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: batches exist in sessions of revision %s only, send one message at a time", mcp.Legacy20250326)

// errNoBatch answers what no batch may hold.
var errNoBatch = jsonrpc.Errorf(jsonrpc.InvalidRequest, "invalid request: %s requests and initialize are not to be part of a batch", mcp.Modern)

// spendLocked refuses what has not been started of a batch, and what is larger than a refusal of the rest: nothing waits
// for memory that only a complete batch sets free, or two of them could wait for each other for ever.
func (f *inflight) spendLocked(b *batch) {
	b.spent = true
	for _, c := range b.calls {
		if c.state == accepted && c.link.queued() { // the others are still with the reader
			f.withdrawLocked(c)
			f.answerLocked(c, nil)
		}
	}
}

// completeLocked makes the answer to a batch ready if all of it is there, and reports whether it did.
func (f *inflight) completeLocked(b *batch) bool {
	if len(b.calls) == 0 || slices.ContainsFunc(b.calls, func(c *call) bool { return c.state != answered }) {
		return false
	}
	for _, c := range b.calls {
		f.partial -= c.size()
		f.ready += c.size()
		f.whole += c.size()
	}
	f.answers.push(&b.link, b.calls[0])
	return true
}

// leaveBatchLocked takes a cancelled call out of its batch, which may be complete without it.
func (f *inflight) leaveBatchLocked(b *batch, c *call) {
	b.calls = slices.DeleteFunc(b.calls, func(member *call) bool { return member == c })
	switch {
	case !b.link.queued():
		f.completeLocked(b)
	case len(b.calls) == 0:
		b.link.remove()
	}
}
