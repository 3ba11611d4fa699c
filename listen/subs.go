package listen

import "strings"

// item is one thing a stream can owe its client: updated for one URI, or one kind of list_changed.
type item struct {
	stream *Stream
	keys   *entry // the index entries of this item, linked by entry.sibling; guarded by Hub.mu
	uri    string // the client's spelling, empty for a list

	// Guarded by Stream.mu.
	due  moment // may not be said before
	turn uint64 // orders what is due at the same moment
	slot int32  // place in Stream.dirty, -1 while clean
	pos  int32  // place in Stream.items
	// changed is what the next message names, nil while clean and when it names nothing.
	changed *changes
	kind    kind
}

func (it *item) addKey(e *entry, key string) {
	*e = entry{item: it, key: key, sibling: it.keys}
	it.keys = e
}

// build makes the items of a stream that is not yet in the hub: two allocations instead of two for each key.
func (s *Stream) build(f Filter, subs []Sub) {
	lists := f.lists()
	for _, on := range lists {
		if on {
			s.lists++
		}
	}
	n := s.lists + len(subs)
	items, entries := make([]item, n), make([]entry, n)
	s.items = make([]*item, 0, n)
	for k, on := range lists {
		if on {
			at := len(s.items)
			s.addItem(&items[at], kind(k), "")
			items[at].addKey(&entries[at], "")
		}
	}
	for i, sub := range subs {
		s.subscribe(sub, &items[s.lists+i], &entries[s.lists+i])
	}
	s.byURI = nil // a map is worth its memory only while the set is edited
}

// Add subscribes to more, for resources/subscribe of a legacy session. What is published after it returned is owed.
func (s *Stream) Add(subs ...Sub) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	for _, sub := range subs {
		if e := s.subscribe(sub, &item{}, &entry{}); e != nil {
			s.hub.index.link(e)
		}
	}
}

// Remove ends the subscription to a URI with all its keys. What was owed for it is not said.
func (s *Stream) Remove(uri string) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.find(uri)
	if it == nil {
		return
	}
	s.hub.index.unlink(it)
	if it.slot >= 0 {
		s.dirty.remove(it)
	}
	last := s.items[len(s.items)-1]
	s.items[it.pos], last.pos = last, it.pos
	s.items[len(s.items)-1] = nil
	s.items = s.items[:len(s.items)-1]
	delete(s.byURI, uri)
}

// URIs is the number of distinct URIs subscribed to, 0 once the stream is over.
func (s *Stream) URIs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items) - s.lists
}

// Has reports whether a URI, in this spelling, is subscribed to.
func (s *Stream) Has(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(uri) != nil
}

// subscribe adds what is new in sub, using the memory given, and returns the new entry, nil if nothing is new.
func (s *Stream) subscribe(sub Sub, newItem *item, newEntry *entry) *entry {
	it := s.find(sub.URI)
	if it == nil {
		it = newItem
		s.addItem(it, updated, sub.URI)
	}
	for e := it.keys; e != nil; e = e.sibling {
		if e.key == sub.Key {
			return nil
		}
	}
	it.addKey(newEntry, sub.Key)
	return newEntry
}

func (s *Stream) addItem(it *item, k kind, uri string) {
	*it = item{stream: s, kind: k, uri: uri, due: always, slot: -1, pos: int32(len(s.items))}
	s.items = append(s.items, it)
	if s.byURI != nil && k == updated {
		s.byURI[uri] = it
	}
}

// find returns the item of a URI, or nil. Few are searched, many are looked up.
func (s *Stream) find(uri string) *item {
	if s.byURI == nil {
		if len(s.items) <= 8 {
			for _, it := range s.items {
				if it.kind == updated && it.uri == uri {
					return it
				}
			}
			return nil
		}
		s.byURI = make(map[string]*item, cap(s.items))
		for _, it := range s.items {
			if it.kind == updated {
				s.byURI[it.uri] = it
			}
		}
	}
	return s.byURI[uri]
}

// owing makes the items of what a handler acknowledged. on and subs are what the built-in source publishes: what of it
// was not acknowledged is left out. What the handler alone tells of has no key. The stream is not touched.
func (s *Stream) owing(f Filter, on [kinds]bool, subs []Sub) (items []*item, lists int) {
	n := int(kinds) - 1 + len(f.ResourceSubscriptions)
	made, entries := make([]item, n), make([]entry, int(kinds)-1+len(subs))
	into := &Stream{items: make([]*item, 0, n), byURI: make(map[string]*item, len(f.ResourceSubscriptions))}
	add := func(k kind, uri string) *item {
		it := &made[len(into.items)]
		into.addItem(it, k, uri)
		it.stream = s
		return it
	}
	for k, acknowledged := range f.lists() {
		if !acknowledged {
			continue
		}
		lists++
		if it := add(kind(k), ""); on[k] {
			it.addKey(&entries[len(subs)+lists-1], "")
		}
	}
	for _, uri := range f.ResourceSubscriptions {
		add(updated, uri)
	}
	for i, sub := range subs {
		if it := into.byURI[sub.URI]; it != nil {
			into.subscribe(sub, it, &entries[i])
		}
	}
	return into.items, lists
}

// findKind returns the item of a kind of list, or of a URI, or nil.
func (s *Stream) findKind(k kind, uri string) *item {
	if k == updated {
		return s.find(uri)
	}
	for _, it := range s.items[:s.lists] {
		if it.kind == k {
			return it
		}
	}
	return nil
}

// coversLocked reports whether a change may be told of: of a URI that is subscribed to also what is beneath it, as an
// updated "might" name "a sub-resource of the one that the client actually subscribed to" (schema, ResourceUpdatedNotification).
func (s *Stream) coversLocked(k kind, uri string) bool {
	if s.findKind(k, uri) != nil {
		return true
	}
	for end := strings.LastIndexByte(uri, '/'); end >= 0; end = strings.LastIndexByte(uri[:end], '/') {
		if s.find(uri[:end]) != nil || s.find(uri[:end+1]) != nil {
			return true
		}
	}
	return false
}
