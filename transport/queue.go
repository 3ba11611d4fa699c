package transport

import "iter"

// queue keeps what waits in order. What is taken out of its middle leaves nothing behind, however long the rest waits.
// The zero queue is empty.
type queue[T any] struct {
	root link[T] // the ring's fixed point
}

// link is the place of an item in a queue; it belongs to the item. An item is in one queue at a time.
type link[T any] struct {
	prev, next *link[T] // nil while in no queue
	item       T
}

func (q *queue[T]) push(l *link[T], item T) {
	root := &q.root
	if root.next == nil {
		root.prev, root.next = root, root
	}
	l.item = item
	l.prev, l.next = root.prev, root
	root.prev.next = l
	root.prev = l
}

// first returns the item that has waited longest and leaves it there.
func (q *queue[T]) first() (item T, ok bool) {
	if q.root.next == nil || q.root.next == &q.root {
		return item, false
	}
	return q.root.next.item, true
}

// all yields what waits, in order. An item is not to be taken out of the queue before the loop is left.
func (q *queue[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for l := q.root.next; l != nil && l != &q.root; l = l.next {
			if !yield(l.item) {
				return
			}
		}
	}
}

func (l *link[T]) queued() bool { return l.next != nil }

// remove takes the item out of its queue, if it is in one.
func (l *link[T]) remove() {
	if l.next == nil {
		return
	}
	l.prev.next, l.next.prev = l.next, l.prev
	*l = link[T]{}
}
