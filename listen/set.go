package listen

import "strings"

// set has an item for each list and each URI that a stream may have to tell its client of, and an entry for each key under
// which a change of one is published. Entries are guarded by Hub.mu, the rest by Stream.mu; what is edited is edited with both
// held.
type set struct {
	items   []item // those of lists first
	entries []entry
	text    string           // of the URIs that the set was made with, one after the other
	added   []string         // URIs that came later
	byURI   map[string]int32 // items by URI, nil until needed
	lists   int32            // how many of items are lists
	uris    int32            // how many of them are URIs

	// What was dropped is used again: the first of each. Each free item has the next one for its first, each free entry for its
	// sibling.
	freeItem  number
	freeEntry number
}

// number says which of several things: it is an index, but the zero value is none of them.
type number int32

func numberOf(i int32) number { return number(i + 1) }

func (n number) none() bool   { return n == 0 }
func (n number) index() int32 { return int32(n) - 1 }

// item is one thing a stream can owe its client: updated for one URI, or one kind of list_changed. There are many: it has no
// pointers, see index.
type item struct {
	due  moment // may not be said before
	turn uint64 // orders what is due at the same moment
	from uint32 // where the URI is in set.text, or, if it was added, in set.added
	size uint32 // of the URI, in bytes, if it is in set.text

	first number // of its entries
	slot  number // in Stream.dirty, none while clean
	kind  kind   // nothing where there is no item
	added bool
}

// newSet is a set that is not in the index yet.
type newSet struct {
	set
	keys []string // of the entries
}

// setOf makes the set of a filter.
func setOf(f Filter, subs []Sub) *newSet {
	s := makeSet(f.lists(), len(subs), len(subs))
	for k, on := range f.lists() {
		if on {
			s.addList(kind(k), true)
		}
	}
	for _, sub := range subs {
		i := s.find(sub.URI)
		if i < 0 {
			i = s.addURI(sub.URI)
		}
		s.await(i, sub.Key)
	}
	s.pack()
	return s
}

// owing makes the set of what a handler acknowledged. on and subs are what the built-in source publishes: what of it was not
// acknowledged is left out. What the handler alone tells of has no key.
func owing(f Filter, on [kinds]bool, subs []Sub) *newSet {
	s := makeSet(f.lists(), len(f.ResourceSubscriptions), len(subs))
	for k, acknowledged := range f.lists() {
		if acknowledged {
			s.addList(kind(k), on[k])
		}
	}
	for _, uri := range f.ResourceSubscriptions {
		s.addURI(uri)
	}
	for _, sub := range subs {
		if i := s.find(sub.URI); i >= 0 {
			s.await(i, sub.Key)
		}
	}
	s.pack()
	return s
}

// makeSet makes an empty set with room.
func makeSet(lists [kinds]bool, uris, keys int) *newSet {
	n := 0
	for _, on := range lists {
		if on {
			n++
		}
	}
	return &newSet{
		set: set{
			items:   make([]item, 0, n+uris),
			entries: make([]entry, 0, n+keys),
			added:   make([]string, 0, uris),
		},
		keys: make([]string, 0, n+keys),
	}
}

// addList adds a list, before any URI. It has an entry if the built-in source publishes it.
func (s *newSet) addList(k kind, published bool) {
	s.items = append(s.items, item{kind: k, due: always})
	s.lists++
	if published {
		s.addEntry(int32(len(s.items)-1), ^int32(k))
		s.keys = append(s.keys, "")
	}
}

// await adds a key to a URI.
func (s *newSet) await(i int32, key string) {
	for e := s.items[i].first; !e.none(); e = s.entries[e.index()].sibling {
		if s.keys[e.index()] == key {
			return
		}
	}
	s.addEntry(i, 0)
	s.keys = append(s.keys, key)
}

// pack lets go of what a set needs only while it is made.
func (s *newSet) pack() {
	s.text = strings.Join(s.added, "")
	from := uint32(0)
	for i := int(s.lists); i < len(s.items); i++ {
		it := &s.items[i]
		size := uint32(len(s.added[it.from]))
		it.from, it.size, it.added = from, size, false
		from += size
	}
	s.added, s.byURI = nil, nil // a map is worth its memory only while the set is edited
}

// addURI adds a URI that is not there, and returns its item.
func (s *set) addURI(uri string) (i int32) {
	if !s.freeItem.none() {
		i = s.freeItem.index()
		s.freeItem = s.items[i].first
	} else {
		i = int32(len(s.items))
		s.items = append(s.items, item{})
	}
	it := &s.items[i]
	if it.added { // it has a place that can be used again
		s.added[it.from] = uri
	} else {
		it.from = uint32(len(s.added))
		s.added = append(s.added, uri)
	}
	*it = item{kind: updated, due: always, from: it.from, added: true}
	s.uris++
	if s.byURI != nil {
		s.byURI[uri] = i
	}
	return i
}

// addEntry adds an entry to an item.
func (s *set) addEntry(i, key int32) (at int32) {
	if !s.freeEntry.none() {
		at = s.freeEntry.index()
		s.freeEntry = s.entries[at].sibling
	} else {
		at = int32(len(s.entries))
		s.entries = append(s.entries, entry{})
	}
	s.entries[at] = entry{item: i, key: key, sibling: s.items[i].first}
	s.items[i].first = numberOf(at)
	return at
}

// drop takes out the item of a URI whose entries are not in the index any more.
func (s *set) drop(i int32) {
	it := &s.items[i]
	for e := it.first; !e.none(); {
		gone := &s.entries[e.index()]
		next := gone.sibling
		*gone = entry{item: -1, sibling: s.freeEntry}
		s.freeEntry, e = e, next
	}
	delete(s.byURI, s.uri(i))
	if it.added {
		s.added[it.from] = ""
	}
	*it = item{kind: nothing, from: it.from, added: it.added, first: s.freeItem}
	s.freeItem = numberOf(i)
	s.uris--
}

// uri is the URI of an item in the client's spelling, empty for a list.
func (s *set) uri(i int32) string {
	it := &s.items[i]
	switch {
	case it.kind != updated:
		return ""
	case it.added:
		return s.added[it.from]
	}
	return s.text[it.from : it.from+it.size]
}

// find returns the item of a URI, negative if there is none. Few are searched, many are looked up.
func (s *set) find(uri string) int32 {
	if s.byURI == nil {
		if len(s.items) <= 8 {
			for i := range s.items {
				if s.items[i].kind == updated && s.uri(int32(i)) == uri {
					return int32(i)
				}
			}
			return -1
		}
		s.byURI = make(map[string]int32, cap(s.items))
		for i := range s.items {
			if s.items[i].kind == updated {
				s.byURI[s.uri(int32(i))] = int32(i)
			}
		}
	}
	if i, ok := s.byURI[uri]; ok {
		return i
	}
	return -1
}

// findKind returns the item of a kind of list, or of a URI, negative if there is none.
func (s *set) findKind(k kind, uri string) int32 {
	if k == updated {
		return s.find(uri)
	}
	for i := range s.items[:s.lists] {
		if s.items[i].kind == k {
			return int32(i)
		}
	}
	return -1
}

// covers reports whether a change may be told of: of a URI that is subscribed to also what is beneath it, as an updated "might"
// name "a sub-resource of the one that the client actually subscribed to" (schema, ResourceUpdatedNotification).
func (s *set) covers(k kind, uri string) bool {
	if s.findKind(k, uri) >= 0 {
		return true
	}
	for end := strings.LastIndexByte(uri, '/'); end >= 0; end = strings.LastIndexByte(uri[:end], '/') {
		if s.find(uri[:end]) >= 0 || s.find(uri[:end+1]) >= 0 {
			return true
		}
	}
	return false
}
