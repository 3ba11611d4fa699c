package listen

import "strings"

// index finds the entries of a changed key: those of the key itself and of each of its ancestors, in one exact map. It and the
// sets of streams name entries and keys by numbers: a garbage collector, which runs with every few thousand requests, would
// have to follow ten pointers for each URI of each stream.
type index struct {
	streams []*Stream         // by Stream.place, nil where there is none
	vacant  []uint32          // places in streams
	ids     map[string]uint32 // of each key that somebody asked for, its place in keys
	keys    []keyed
	free    number     // of one of keys that is used again; first.entry of that is the next
	lists   [kinds]ref // the first entry of each kind of list
}

// keyed is what the index holds of a key. Its place stays the same as long as somebody asks for it.
type keyed struct {
	key   string
	first ref // none where there is no key
}

// ref names an entry of a stream. The zero value names none.
type ref struct {
	stream uint32 // Stream.place and 1
	entry  int32
}

func (r ref) none() bool { return r.stream == 0 }

// entry is one key of one item, linked with the others of that key, so that taking it out needs no search.
type entry struct {
	item       int32  // negative: none, it can be used again
	key        int32  // place in index.keys, negative for a list: ^kind
	prev, next ref    // neighbours among the entries of one key
	sibling    number // the next entry of the same item; of one that is free, the next free one
}

func newIndex() index { return index{ids: map[string]uint32{}} }

// admit gives a stream a place.
func (x *index) admit(s *Stream) {
	if n := len(x.vacant); n > 0 {
		s.place = x.vacant[n-1]
		x.vacant = x.vacant[:n-1]
		x.streams[s.place] = s
		return
	}
	s.place = uint32(len(x.streams))
	x.streams = append(x.streams, s)
}

// dismiss takes out a stream with all its entries.
func (x *index) dismiss(s *Stream) {
	for i := range s.entries {
		if s.entries[i].item >= 0 {
			x.unlink(s, int32(i))
		}
	}
	x.streams[s.place] = nil
	x.vacant = append(x.vacant, s.place)
}

func (x *index) at(r ref) *entry { return &x.streams[r.stream-1].entries[r.entry] }

// linkAll puts in all entries of a stream, which have these keys.
func (x *index) linkAll(s *Stream, keys []string) {
	for i, key := range keys {
		x.link(s, int32(i), key)
	}
}

// link puts entry number i of a stream first among those of its key.
func (x *index) link(s *Stream, i int32, key string) {
	e := &s.entries[i]
	var first *ref
	if e.key < 0 {
		first = &x.lists[^e.key]
	} else {
		id, known := x.ids[key]
		if !known {
			id = x.learn(key)
		}
		e.key = int32(id)
		first = &x.keys[id].first
	}
	r := ref{s.place + 1, i}
	if e.next = *first; !e.next.none() {
		x.at(e.next).prev = r
	}
	*first = r
}

// learn gives a key a place.
func (x *index) learn(key string) (id uint32) {
	if !x.free.none() {
		id = uint32(x.free.index())
		x.free = number(x.keys[id].first.entry)
		x.keys[id] = keyed{key: key}
	} else {
		id = uint32(len(x.keys))
		x.keys = append(x.keys, keyed{key: key})
	}
	x.ids[key] = id
	return id
}

// unlink takes out entry number i of a stream.
func (x *index) unlink(s *Stream, i int32) {
	e := &s.entries[i]
	if !e.next.none() {
		x.at(e.next).prev = e.prev
	}
	switch {
	case !e.prev.none():
		x.at(e.prev).next = e.next
	case e.key < 0:
		x.lists[^e.key] = e.next
	case !e.next.none():
		x.keys[e.key].first = e.next
	default:
		x.forget(e.key)
	}
	e.prev, e.next = ref{}, ref{}
}

// forget takes out a key. No other is moved: whoever goes through the keys in pieces passes each that stays.
func (x *index) forget(id int32) {
	delete(x.ids, x.keys[id].key)
	x.keys[id] = keyed{first: ref{entry: int32(x.free)}}
	x.free = numberOf(id)
}

// markKey marks what a change of key dirties and appends the streams to be woken. named is how the change is named to
// those that asked for an ancestor, or for the container that key is, empty if it is not.
func (x *index) markKey(key, named string, woken []*Stream) []*Stream {
	woken = x.markAll(x.first(key), "", woken)
	for end := strings.LastIndexByte(key, '/'); end >= 0; end = strings.LastIndexByte(key[:end], '/') {
		woken = x.markAll(x.first(key[:end]), named, woken) // a container first, by the key it is asked for
	}
	return woken
}

// first is the first entry of a key, none if nobody asks for it.
func (x *index) first(key string) ref {
	if id, known := x.ids[key]; known {
		return x.keys[id].first
	}
	return ref{}
}

// markAll marks the items of an entry and all after it and appends the streams to be woken.
func (x *index) markAll(r ref, named string, woken []*Stream) []*Stream {
	for !r.none() {
		s := x.streams[r.stream-1]
		e := &s.entries[r.entry]
		if s.mark(e.item, named) {
			woken = append(woken, s)
		}
		r = e.next
	}
	return woken
}
