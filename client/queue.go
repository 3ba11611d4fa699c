package client

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
)

// queue is what is owed to the consumer: for each resource a set of what is to be told, in the order in which they
// became owed. Between Lost and Live what becomes owed is held back.
type queue struct {
	maxNotes int
	wake     chan struct{} // 1-buffered, never closed
	over     chan struct{} // closed by close

	mu     sync.Mutex // guards what follows
	items  map[itemKey]*item
	order  []*item // may be handed out
	held   []*item // become owed when Live is
	shut   bool    // Live is not owed since the last Lost: hold back
	notes  []note  // of the item of notifications
	heavy  int     // bytes of the notes
	missed int     // how many notes were dropped before the first of them
	empty  int     // how many in order and held were dropped
	// unwanted is what does not become owed: the session may not have taken over yet what is wanted.
	unwanted func(kind Kind, uri string) bool
}

// itemKey is a kind that is owed once, or a URI.
type itemKey struct {
	kind Kind // Updated stands for all that is told of a URI, Live for Lost as well
	uri  string
}

// item is what is owed of one key; one that owes nothing any more is skipped.
type item struct {
	key                     itemKey
	removed, added, updated bool
	resource                *Resource // of added
	looks                   int       // of added: at the view before it was in there
	lost, live              *Event
}

// note is a notification that only an extension knows.
type note struct {
	method string
	params json.RawMessage
}

func newQueue(maxNotes int) *queue {
	return &queue{maxNotes: maxNotes, wake: make(chan struct{}, 1), over: make(chan struct{}), items: map[itemKey]*item{}, shut: true,
		unwanted: func(Kind, string) bool { return false }}
}

// itemLocked finds or makes the item of key.
func (q *queue) itemLocked(key itemKey) *item {
	it := q.items[key]
	if it != nil {
		return it
	}
	it = &item{key: key}
	q.items[key] = it
	if q.shut && key.kind != Live {
		q.held = append(q.held, it)
	} else {
		q.order = append(q.order, it)
	}
	return it
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// lost owes Lost, in place of a Live that was not handed out, and holds back what follows.
func (q *queue) lost(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutLocked()
	it := q.itemLocked(itemKey{kind: Live})
	it.lost, it.live = &e, nil
	q.rouse()
}

// unlive takes back a Live that was not handed out, and all that was owed after it.
func (q *queue) unlive() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.items[itemKey{kind: Live}]; it != nil && it.live != nil {
		q.shutLocked()
		it.live = nil
	}
}

// shutLocked holds back what is owed after a Live that was not handed out, and all that comes.
func (q *queue) shutLocked() {
	q.shut = true
	if i := slices.Index(q.order, q.items[itemKey{kind: Live}]); i >= 0 {
		q.held = append(slices.Clone(q.order[i+1:]), q.held...)
		q.order = slices.Delete(q.order, i+1, len(q.order))
	}
}

// live owes Live, and what was held back after it.
func (q *queue) live(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.itemLocked(itemKey{kind: Live}).live = &e
	q.order = append(q.order, q.held...)
	q.shut, q.held = false, nil
	q.rouse()
}

// lookedAt stands for a number of looks that is another than any: what is owed as added is then owed as removed, too.
const lookedAt = -1

// shown notes that somebody has seen a resource that they may not have been told of as added.
func (q *queue) shown(uri string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.items[itemKey{Updated, uri}]; it != nil && it.added {
		it.looks = lookedAt
	}
}

// removed owes that a resource is listed no more, unless it was not told yet that it is and nobody has looked at the view
// meanwhile: looks says how often that was done until now. It is then not told as updated, unless it is followed for itself.
func (q *queue) removed(uri string, explicit bool, looks int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unwanted(Removed, uri) {
		q.updatedLocked(uri, explicit)
		return
	}
	it := q.itemLocked(itemKey{Updated, uri})
	it.removed = it.removed || !it.added || it.looks != looks || looks == lookedAt
	it.added, it.resource = false, nil
	it.updated = it.updated && explicit
	if it.owesNothing() {
		q.dropLocked(it)
		return
	}
	q.rouse()
}

// owesNothing is about an item of a resource.
func (it *item) owesNothing() bool { return !it.removed && !it.added && !it.updated }

// dropLocked forgets an item of a resource. Its place goes when many do: names that come and go would fill the memory.
func (q *queue) dropLocked(it *item) {
	delete(q.items, it.key)
	if q.empty++; q.empty <= 1000 || q.empty <= (len(q.order)+len(q.held))/2 {
		return
	}
	q.empty = 0
	gone := func(it *item) bool { return it.key.kind == Updated && it.owesNothing() && q.items[it.key] != it }
	q.order, q.held = slices.DeleteFunc(q.order, gone), slices.DeleteFunc(q.held, gone)
}

// added owes that a resource is listed; whoever is told that looks at it anyway. looks says how often the view was looked at
// before it was in there.
func (q *queue) added(r *Resource, explicit bool, looks int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unwanted(Added, r.URI) {
		q.updatedLocked(r.URI, explicit)
		return
	}
	it := q.itemLocked(itemKey{Updated, r.URI})
	it.added, it.resource, it.looks = true, r, looks
	it.updated = it.updated && explicit
	q.rouse()
}

func (q *queue) updated(uri string, explicit bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.updatedLocked(uri, explicit)
}

func (q *queue) updatedLocked(uri string, explicit bool) {
	if q.unwanted(Updated, uri) {
		return
	}
	it := q.itemLocked(itemKey{Updated, uri})
	it.updated = it.updated || !it.added || explicit
	q.rouse()
}

// changed owes ToolsChanged or PromptsChanged.
func (q *queue) changed(kind Kind) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unwanted(kind, "") {
		return
	}
	q.itemLocked(itemKey{kind: kind}).updated = true
	q.rouse()
}

// size is what a note takes, in bytes.
func (n note) size() int { return len(n.method) + len(n.params) }

// maxNoteBytes bounds the notes that wait, but for one.
const maxNoteBytes = 64 << 20

// notify owes a notification; if too many are, the oldest is dropped and counted.
func (q *queue) notify(method string, params json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unwanted(Notification, "") {
		return
	}
	q.itemLocked(itemKey{kind: Notification})
	n := note{method, slices.Clone(params)}
	for len(q.notes) >= q.maxNotes || len(q.notes) > 0 && q.heavy+n.size() > maxNoteBytes {
		q.dropNoteLocked()
		q.missed++
	}
	q.notes = append(q.notes, n)
	q.heavy += n.size()
	q.rouse()
}

// dropNoteLocked drops the oldest note.
func (q *queue) dropNoteLocked() {
	q.heavy -= q.notes[0].size()
	q.notes = slices.Delete(q.notes, 0, 1)
}

// forget takes back what is owed of a resource that is no longer wanted, or of the kinds that are not.
func (q *queue) forget(unwanted func(kind Kind, uri string) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forgetLocked(unwanted)
}

// refuse forgets what is unwanted, and lets none of it become owed until it is called again.
func (q *queue) refuse(unwanted func(kind Kind, uri string) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unwanted = unwanted
	q.forgetLocked(unwanted)
}

func (q *queue) forgetLocked(unwanted func(kind Kind, uri string) bool) {
	if unwanted(Notification, "") {
		q.notes, q.heavy, q.missed = nil, 0, 0
	}
	for key, it := range q.items {
		if key.kind == Updated {
			removed, added := it.removed && !unwanted(Removed, key.uri), it.added && !unwanted(Added, key.uri)
			it.updated = it.updated || removed != it.removed || added != it.added // for who follows it for itself from now on
			it.removed, it.added = removed, added
		}
		it.updated = it.updated && !unwanted(key.kind, key.uri)
		if key.kind == Updated && it.owesNothing() {
			q.dropLocked(it)
		}
	}
}

// close says that nothing more becomes owed. It is called once.
func (q *queue) close() { close(q.over) }

// next hands out what is owed first, and waits until something is.
func (q *queue) next(ctx context.Context) (Event, error) {
	for {
		if e, ok := q.pull(); ok {
			return e, nil
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		case <-q.over:
			if e, ok := q.pull(); ok {
				return e, nil
			}
			return Event{}, ErrStopped
		}
	}
}

func (q *queue) pull() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.order) > 0 {
		it := q.order[0]
		e, ok, more := q.takeLocked(it)
		if !more {
			q.order[0] = nil
			if q.order = q.order[1:]; len(q.order) == 0 {
				q.order = nil // an array does not shrink by itself
			}
			if q.items[it.key] == it {
				delete(q.items, it.key)
			} else { // it was dropped, and another may have come
				q.empty--
			}
		} else if it.key.kind == Notification && len(q.order) > 1 && q.order[1].key.kind != Live {
			q.order[0], q.order[1] = q.order[1], it // others have their turn between two notes
		}
		if ok {
			if len(q.order) > 0 {
				q.rouse() // for another that waits
			}
			return e, true
		}
	}
	return Event{}, false
}

// takeLocked takes one event out of an item, and says whether it owes more.
func (q *queue) takeLocked(it *item) (e Event, ok, more bool) {
	switch {
	case it.lost != nil:
		e, it.lost = *it.lost, nil
		return e, true, it.live != nil
	case it.live != nil:
		e, it.live = *it.live, nil
		return e, true, false
	case it.removed:
		it.removed = false
		return Event{Kind: Removed, URI: it.key.uri}, true, it.added || it.updated
	case it.added:
		it.added = false
		return Event{Kind: Added, URI: it.key.uri, Resource: it.resource}, true, it.updated
	case it.updated:
		it.updated = false
		return Event{Kind: it.key.kind, URI: it.key.uri}, true, false
	case it.key.kind == Notification && len(q.notes) > 0:
		n := q.notes[0]
		e = Event{Kind: Notification, Method: n.method, Params: n.params, Missed: q.missed}
		q.dropNoteLocked()
		q.missed = 0
		return e, true, len(q.notes) > 0
	}
	return Event{}, false, false
}
