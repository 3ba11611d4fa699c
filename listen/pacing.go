package listen

import (
	"container/heap"
	"math"
)

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

// dirtySet is a heap of the items that are owed, the one due first on top. The due time of an item does not change
// while it is in the set, so saying a change twice costs nothing. The turn keeps those that are due together in the
// order of their changes; since an item just said is due an interval later, none starves another.
type dirtySet []*item

func (d dirtySet) Len() int { return len(d) }

func (d dirtySet) Less(i, j int) bool {
	if d[i].due != d[j].due {
		return d[i].due < d[j].due
	}
	return d[i].turn < d[j].turn
}

func (d dirtySet) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].slot, d[j].slot = int32(i), int32(j)
}

func (d *dirtySet) Push(x any) {
	it := x.(*item)
	it.slot = int32(len(*d))
	*d = append(*d, it)
}

func (d *dirtySet) Pop() any {
	last := len(*d) - 1
	it := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	it.slot = -1
	return it
}

func (d *dirtySet) add(it *item)    { heap.Push(d, it) }
func (d *dirtySet) first() *item    { return heap.Pop(d).(*item) }
func (d *dirtySet) remove(it *item) { heap.Remove(d, int(it.slot)) }
