package listen

import "strings"

// index finds the entries of a changed key: those of the key itself and of each of its ancestors, in one exact map.
type index struct {
	keys  map[string]place // of each key that somebody asked for
	order []string         // those keys, so that they can be gone through in pieces; each at its place.pos
	lists [kinds]*entry    // the first entry of each kind of list
}

// place is what the index holds of a key.
type place struct {
	first *entry
	pos   int
}

// entry is one key of one item, linked with the others of that key, so that taking it out needs no search.
type entry struct {
	item       *item
	key        string // empty for a list
	prev, next *entry // neighbours among the entries of one key
	sibling    *entry // the next key of the same item
}

func newIndex() index { return index{keys: map[string]place{}} }

// link puts an entry first among those of its key.
func (x *index) link(e *entry) {
	if k := e.item.kind; k != updated {
		e.next = x.lists[k]
		x.lists[k] = e
	} else {
		at, known := x.keys[e.key]
		if known {
			e.next = at.first
			e.key = e.next.key // one copy of the bytes for all streams
		} else {
			at.pos = len(x.order)
			x.order = append(x.order, e.key)
		}
		x.keys[e.key] = place{e, at.pos}
	}
	if e.next != nil {
		e.next.prev = e
	}
}

// unlink takes out all entries of an item.
func (x *index) unlink(it *item) {
	for e := it.keys; e != nil; e = e.sibling {
		if e.next != nil {
			e.next.prev = e.prev
		}
		switch {
		case e.prev != nil:
			e.prev.next = e.next
		case it.kind != updated:
			x.lists[it.kind] = e.next
		case e.next != nil:
			x.keys[e.key] = place{e.next, x.keys[e.key].pos}
		default:
			x.forget(e.key)
		}
	}
}

// forget takes out a key. The last one takes its place: whoever goes from the end to the beginning was there before.
func (x *index) forget(key string) {
	pos, end := x.keys[key].pos, len(x.order)-1
	last := x.order[end]
	x.order[pos] = last
	x.order[end] = ""
	x.order = x.order[:end]
	x.keys[last] = place{x.keys[last].first, pos}
	delete(x.keys, key)
}

// markKey marks what a change of key dirties and appends the streams to be woken. named is how the change is named to
// those that asked for an ancestor, or for the container that key is, empty if it is not.
func (x *index) markKey(key, named string, woken []*Stream) []*Stream {
	woken = x.keys[key].first.markAll("", woken)
	for end := strings.LastIndexByte(key, '/'); end >= 0; end = strings.LastIndexByte(key[:end], '/') {
		woken = x.keys[key[:end]].first.markAll(named, woken) // a container first, by the key it is asked for
	}
	return woken
}

// markAll marks the items of e and all entries after it and appends the streams to be woken.
func (e *entry) markAll(named string, woken []*Stream) []*Stream {
	for ; e != nil; e = e.next {
		if s := e.item.stream; s.mark(e.item, named) {
			woken = append(woken, s)
		}
	}
	return woken
}
