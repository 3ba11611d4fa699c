package listen

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// Options configures a [Hub]. The zero value and nil are ready to use.
type Options struct {
	// UpdateInterval is the least time between two updated for one URI on one stream. Zero: 50 ms. Negative: none.
	UpdateInterval time.Duration
	// ListInterval is the least time between two list_changed of one kind on one stream. Zero: 500 ms. Negative: none.
	ListInterval time.Duration
	// MaxStreams is how many streams may be open at once. Zero: 65,536. Negative: any number. One that is over counts
	// until its handler has returned.
	MaxStreams int
	// ChangedMeta is the key of the _meta of an updated under which it names what changed beneath its URI since the
	// message before, and the container that this is: an array of keys as they were published, sorted. It is left out if
	// nothing did, or more than 64.
	// It begins with a prefix of the program's own (basic/index, "_meta"). Empty: none names anything.
	ChangedMeta string
}

// Sub is a subscription to one key. Several Subs with one URI are one subscription that several keys trigger.
type Sub struct {
	Key string // canonical, without a trailing slash
	URI string // the client's spelling, repeated in its notifications
}

// Change is what an event source found changed.
type Change struct {
	// Keys are what was changed, added or removed. One of them may end in "/", to say that it is a container: it is matched
	// without that, and named with it.
	Keys    []string
	List    bool // the list of resources changed
	Tools   bool // the list of tools changed
	Prompts bool // the list of prompts changed
}

// Hub knows which stream wants which change. Make one with [NewHub].
type Hub struct {
	epoch          time.Time
	updateInterval time.Duration
	listInterval   time.Duration
	maxStreams     int
	changedMember  string // opens the array in the _meta of an updated, empty if there is none

	// mu guards what follows and the entries of all streams. It is taken before a Stream.mu, never after, and never held
	// across a call out of this package.
	mu        sync.RWMutex
	index     index
	open      int           // streams that are not over
	lingering int           // handlers that have not returned although their streams are over
	shut      bool          // Shutdown was called
	drained   chan struct{} // made by the first Shutdown, closed when no stream and no handler is left after it
}

// NewHub makes a hub without streams.
func NewHub(opts *Options) *Hub {
	var o Options
	if opts != nil {
		o = *opts
	}
	var changedMember string
	if o.ChangedMeta != "" {
		changedMember = string(jsonrpc.AppendString(nil, o.ChangedMeta)) + ":["
	}
	return &Hub{
		epoch:          time.Now(),
		updateInterval: max(orDefault(o.UpdateInterval, 50*time.Millisecond), 0),
		listInterval:   max(orDefault(o.ListInterval, 500*time.Millisecond), 0),
		maxStreams:     orDefault(o.MaxStreams, 65_536),
		changedMember:  changedMember,
		index:          newIndex(),
	}
}

func orDefault[T int | time.Duration](v, zero T) T {
	if v == 0 {
		return zero
	}
	return v
}

// Publish marks a change on every stream that asked for it and wakes the carriers of those that were clean. When it
// returns, the change is owed. It never waits for a client and never drops. Call it once what clients read shows the change:
// who was told before that reads what was, and is not told again.
func (h *Hub) Publish(c Change) {
	var few [32]*Stream
	woken := few[:0]
	// A lock for each key, so that a large batch does not keep streams from being opened and closed.
	for k, changed := range [kinds]bool{resourcesList: c.List, toolsList: c.Tools, promptsList: c.Prompts} {
		if changed {
			h.mu.RLock()
			woken = h.index.markAll(h.index.lists[k], "", woken)
			h.mu.RUnlock()
		}
	}
	for _, key := range c.Keys {
		named := ""
		if h.changedMember != "" {
			named = key
		}
		h.mu.RLock()
		woken = h.index.markKey(key, named, woken)
		h.mu.RUnlock()
	}
	// Only now, so that a carrier finds together what changed together.
	for _, s := range woken {
		s.carrier.Wake(s)
	}
}

// Open starts a stream. f is the honoured filter, which the acknowledgement repeats; subs holds at least one key for
// each of its URIs. A stream with an id owes its acknowledgement: its carrier is woken before Open returns. If nothing
// is honoured it completes by itself after that. Whatever is published after Open returned is owed. serverInfo is the
// compact JSON object that names the server in the completion result; nil leaves it out.
//
// A nil id opens a stream for a legacy session: untagged, neither acknowledged nor completed by a message, and clean
// until something is published.
//
// The error is [ErrTooManyStreams], [ErrShutdown], or says that id is no request id, or which extension is no JSON.
func (h *Hub) Open(id json.RawMessage, f Filter, subs []Sub, c Carrier, serverInfo json.RawMessage) (*Stream, error) {
	if id != nil {
		if err := checkID(id); err != nil {
			return nil, err
		}
	}
	own, err := f.compact()
	if err != nil {
		return nil, err
	}
	s, keys := newStream(h, string(id), own, subs, c, serverInfo)
	h.mu.Lock()
	if err := h.admitLocked(s); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	h.index.linkAll(s, keys)
	h.mu.Unlock()
	if id != nil {
		c.Wake(s)
	}
	return s, nil
}

// openHandled starts a stream that has nothing to say before its handler acknowledges. Its carrier is not woken.
func (h *Hub) openHandled(id json.RawMessage, of *handled, c Carrier, serverInfo json.RawMessage) (*Stream, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	s := &Stream{hub: h, carrier: c, info: serverInfo, id: string(id), asked: never, handled: of}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.admitLocked(s); err != nil {
		return nil, err
	}
	return s, nil
}

func checkID(id json.RawMessage) error {
	if _, ok := jsonrpc.ParseID(id); !ok {
		return fmt.Errorf("a listen id must be an integer or a string of at most %d bytes", jsonrpc.MaxIDBytes)
	}
	return nil
}

func (h *Hub) admitLocked(s *Stream) error {
	if h.shut {
		return ErrShutdown
	}
	if h.maxStreams > 0 && h.open+h.lingering >= h.maxStreams {
		return ErrTooManyStreams
	}
	h.index.admit(s)
	h.open++
	return nil
}

// Len is the number of streams that are not over.
func (h *Hub) Len() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.open
}

// Keys appends to dst at most n of the keys that streams ask for, each once, and returns where to go on: begin with
// a negative at, and go on until next is 0. A key that is asked for all the while is in one of the pieces, whatever
// comes and goes meanwhile. One call costs no more than its piece.
func (h *Hub) Keys(dst []string, at, n int) (keys []string, next int) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	end := len(h.index.keys)
	if at >= 0 {
		end = min(at, end)
	}
	next = max(end-n, 0)
	for i := end - 1; i >= next; i-- {
		if k := &h.index.keys[i]; !k.first.none() {
			dst = append(dst, k.key)
		}
	}
	return dst, next
}

// Shutdown completes every stream, refuses new ones and waits until all are over, that is, until each carrier has
// asked once more after the completion result, and until every handler has returned. It gives up with ctx's error and
// leaves the rest to be cancelled, and a handler that ignores its context to itself.
func (h *Hub) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if !h.shut {
		h.shut = true
		h.drained = make(chan struct{})
		h.checkDrainedLocked()
	}
	open := slices.Clone(h.index.streams)
	h.mu.Unlock()
	for _, s := range open {
		if s != nil {
			s.Complete()
		}
	}
	select {
	case <-h.drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Hub) checkDrainedLocked() {
	if h.shut && h.open == 0 && h.lingering == 0 {
		close(h.drained)
	}
}

// forget takes a stream that is over, and the entries it has, out of the hub.
func (h *Hub) forget(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.index.dismiss(s)
	s.entries = nil
	if h.open--; h.open == 0 {
		h.index = newIndex() // it does not shrink by itself
	}
	s.closeDone()
	if of := s.handled; of != nil && !of.returned {
		of.lingers = true
		h.lingering++
	}
	h.checkDrainedLocked()
}

// release notes that the handler of a stream has returned.
func (h *Hub) release(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.handled.returned = true
	if s.handled.lingers {
		h.lingering--
		h.checkDrainedLocked()
	}
}
