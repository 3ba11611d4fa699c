package listen

import (
	"encoding/json"
	"sync"
	"time"
)

// Over is the wait that [Stream.Next] returns when nothing will ever come again.
const Over time.Duration = -1

// Carrier takes a stream's messages to its client.
type Carrier interface {
	// Wake says that s has something to hand out, or to end with, earlier than its last Next said. It is called once
	// each time a stream that waited or was idle ceases to, from any goroutine and without a lock of this package. It
	// must not block. The call may come before Open has returned s, and just after s is over.
	Wake(s *Stream)
}

// Stream is one subscription: a set of changes that are still to be said. Its messages are pulled with Next.
type Stream struct {
	hub     *Hub
	carrier Carrier
	info    []byte // names the server in the completion result, nil if that does not
	id      string // the request's id as spelled, empty on a legacy stream
	place   uint32 // in index.streams; guarded by Hub.mu

	// mu guards what follows. It is held for a few memory operations only.
	mu  sync.Mutex
	ack *Filter // owed before anything else, nil once handed out
	set
	dirty      dirtySet           // the items it owes
	changed    map[int32]*changes // what their messages name; none for those that name nothing
	turns      uint64             // how often one became dirty
	asked      moment             // when the carrier will ask by itself; always while it is awake, never while idle
	completing bool               // nothing more is marked; what is owed is due at once
	finished   bool               // the completion result was handed out
	over       bool               // silence; the entries are Hub.forget's
	forgotten  bool               // Hub.forget is through
	done       chan struct{}      // made by the first Done, closed by Hub.forget

	handled *handled // nil without a Handler; set when the stream is made
}

// newStream builds a stream that is not yet in the hub, and returns the keys of its entries.
func newStream(h *Hub, id string, f Filter, subs []Sub, c Carrier, info []byte) (s *Stream, keys []string) {
	owed := setOf(f, subs)
	s = &Stream{hub: h, carrier: c, info: info, id: id, asked: never, set: owed.set}
	if id != "" {
		s.ack = &f
		s.asked = always
		s.completing = f.IsEmpty() && len(subs) == 0
	}
	return s, owed.keys
}

// ID is the listen request's id as the client spelled it, nil on a legacy stream.
func (s *Stream) ID() json.RawMessage {
	if s.id == "" {
		return nil
	}
	return json.RawMessage(s.id)
}

// Next appends the next message, compact JSON without a newline, to dst and returns the extended slice. After a message
// the carrier asks again once it has written it. Without a message frame is nil, and wait says when to ask again:
// after wait if it is positive, when woken if it is 0, never if it is [Over].
//
// now must not run backwards; the wait and the pacing are measured by it.
func (s *Stream) Next(dst []byte, now time.Time) (frame []byte, wait time.Duration) {
	s.mu.Lock()
	m := s.nextLocked(moment(now.Sub(s.hub.epoch)))
	s.mu.Unlock()
	switch m.kind {
	case nothing:
		return nil, m.wait
	case ended:
		s.hub.forget(s)
		return nil, Over
	case acknowledged:
		return appendAcknowledged(dst, s.id, m.ack), 0
	case result:
		return appendResult(dst, s.id, s.info), 0
	case failed:
		return appendFailure(dst, s.id, s.handled.failure), 0
	case posted:
		return append(dst, m.post.frame...), 0
	default:
		return appendChange(dst, s.id, m, s.hub.changedMember), 0
	}
}

// message is what Next has to say, decided under the lock and encoded outside it.
type message struct {
	kind  kind
	uri   string        // of updated
	named []string      // of updated: what changed at a container or beneath it
	ack   *Filter       // of acknowledged
	wait  time.Duration // of nothing
	post  *post         // of posted
}

func (s *Stream) nextLocked(now moment) message {
	s.asked = always
	switch {
	case s.over:
		return message{kind: nothing, wait: Over}
	case s.ack != nil:
		ack := s.ack
		s.ack = nil
		return message{kind: acknowledged, ack: ack}
	case s.postDueLocked(now):
		return message{kind: posted, post: s.takePostLocked()}
	case len(s.dirty) > 0:
		if due := s.firstDueLocked(); due > now && !s.completing {
			s.asked = due
			return message{kind: nothing, wait: time.Duration(due - now)}
		}
		i := s.dirty.first(s.items)
		it := &s.items[i]
		it.due = now + s.hub.interval(it.kind)
		if len(s.dirty) == 0 && cap(s.dirty) > 16 {
			s.dirty = nil
		}
		named := s.changed[i].named()
		if delete(s.changed, i); s.dirty == nil {
			s.changed = nil
		}
		return message{kind: it.kind, uri: s.uri(i), named: named}
	case !s.completing:
		s.asked = never
		return message{kind: nothing}
	case s.id != "" && !s.finished:
		s.finished = true
		if s.handled != nil && s.handled.failure != nil {
			return message{kind: failed}
		}
		return message{kind: result}
	default:
		s.silenceLocked()
		return message{kind: ended}
	}
}

// firstDueLocked is when the first item is due that the stream owes.
func (s *Stream) firstDueLocked() moment { return s.items[s.dirty[0]].due }

// mark makes an item dirty and reports whether the carrier is to be woken. named is what the item's message names of the
// change, empty if nothing.
func (s *Stream) mark(i int32, named string) (wake bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.markLocked(i, named)
}

func (s *Stream) markLocked(i int32, named string) (wake bool) {
	if s.completing || s.over {
		return false
	}
	if named != "" {
		s.nameLocked(i, s.changed[i].add(named))
	}
	it := &s.items[i]
	if !it.slot.none() {
		return false
	}
	s.turns++
	it.turn = s.turns
	s.dirty.add(s.items, i)
	if it.due >= s.asked {
		return false
	}
	s.asked = always
	return true
}

// nameLocked sets what the next message of an item names.
func (s *Stream) nameLocked(i int32, c *changes) {
	if s.changed == nil {
		s.changed = make(map[int32]*changes)
	}
	s.changed[i] = c
}

// Cancel silences the stream at once: a Next that is called after it returns nothing, neither what was owed nor the
// acknowledgement nor a result (basic/patterns/cancellation, "Behavior Requirements"). The carrier is not woken.
func (s *Stream) Cancel() {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.silenceLocked()
	h := s.handled
	if h != nil {
		h.closeLocked(ErrCancelled)
	}
	s.mu.Unlock()
	if h != nil {
		h.stop(h.cause)
	}
	s.hub.forget(s)
}

// Complete ends the stream in good order: Next hands out what is owed without regard to pacing, then the completion
// result (on a legacy stream nothing), then [Over]. What is published after Complete is not owed. It does not wait for a
// handler, whose context ends: what that has not acknowledged is acknowledged with nothing honoured.
func (s *Stream) Complete() {
	s.mu.Lock()
	wake := s.finishLocked(ErrShutdown)
	h := s.handled
	s.mu.Unlock()
	if h != nil {
		h.stop(h.cause) // which is not set twice
	}
	if wake {
		s.carrier.Wake(s)
	}
}

// finishLocked lets nothing more be owed, for the cause given, and reports whether the carrier is to be woken.
func (s *Stream) finishLocked(cause error) (wake bool) {
	if s.completing || s.over {
		return false
	}
	s.completing = true
	if h := s.handled; h != nil {
		h.closeLocked(cause)
		if h.pending {
			h.pending, s.ack = false, &Filter{}
		}
	}
	return s.rouseLocked()
}

// rouseLocked has the carrier ask now, and reports whether it is to be woken for that.
func (s *Stream) rouseLocked() (wake bool) {
	wake = s.asked != always
	s.asked = always
	return wake
}

// Finished reports whether Next has handed out the answer, the completion result or an error, after which the id of the
// request is free.
func (s *Stream) Finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished
}

// Done is closed when the stream is over: cancelled, or completed and Next returned [Over].
func (s *Stream) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		if s.forgotten {
			close(s.done)
		}
	}
	return s.done
}

// silenceLocked makes the stream over. Its entries are still in the index: the caller has Hub.forget take them out once it
// holds no lock.
func (s *Stream) silenceLocked() {
	s.over, s.ack, s.dirty, s.changed = true, nil, nil, nil
	s.items, s.lists, s.uris, s.text, s.added, s.byURI = nil, 0, 0, "", nil, nil
}

func (s *Stream) closeDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	if s.done != nil {
		close(s.done)
	}
}
