package listen

import "math"

// moment is a time in nanoseconds since the hub was made.
type moment int64

const (
	always moment = math.MinInt64 // the due time of what was never said
	never  moment = math.MaxInt64
)

// interval is the least time between two messages of one kind for one item.
func (h *Hub) interval(k kind) moment {
	if k == updated {
		return moment(h.updateInterval)
	}
	return moment(h.listInterval)
}

// dirtySet is a heap of the items that are owed, by their numbers, the one due first on top. The due time of an item does not
// change while it is in the set, so saying a change twice costs nothing. The turn keeps those that are due together in the
// order of their changes; since an item just said is due an interval later, none starves another.
type dirtySet []int32

// add puts in an item that is not in it.
func (d *dirtySet) add(items []item, i int32) {
	*d = append(*d, i)
	d.up(items, len(*d)-1)
}

// first takes out the item on top.
func (d *dirtySet) first(items []item) int32 {
	i := (*d)[0]
	d.remove(items, i)
	return i
}

// remove takes out an item.
func (d *dirtySet) remove(items []item, i int32) {
	at, last := int(items[i].slot.index()), len(*d)-1
	items[i].slot = 0
	moved := (*d)[last]
	if *d = (*d)[:last]; at == last {
		return
	}
	(*d)[at] = moved
	d.down(items, d.up(items, at))
}

// up moves what is at a place to where it is not before what is above it, and returns where that is.
func (d dirtySet) up(items []item, at int) int {
	i := d[at]
	for at > 0 {
		above := (at - 1) / 2
		if !items[i].before(&items[d[above]]) {
			break
		}
		d.put(items, at, d[above])
		at = above
	}
	d.put(items, at, i)
	return at
}

// down moves what is at a place to where nothing below is before it.
func (d dirtySet) down(items []item, at int) {
	i := d[at]
	for {
		below := 2*at + 1
		if below >= len(d) {
			break
		}
		if other := below + 1; other < len(d) && items[d[other]].before(&items[d[below]]) {
			below = other
		}
		if !items[d[below]].before(&items[i]) {
			break
		}
		d.put(items, at, d[below])
		at = below
	}
	d.put(items, at, i)
}

func (d dirtySet) put(items []item, at int, i int32) {
	d[at] = i
	items[i].slot = numberOf(int32(at))
}

// before reports whether an item is due before another.
func (it *item) before(other *item) bool {
	if it.due != other.due {
		return it.due < other.due
	}
	return it.turn < other.turn
}
