package transport

import "time"

// timers is a heap of who is to be served later, by the time that is due.
type timers[T interface{ when() *alarm }] []T

// alarm is the place of somebody in a heap; it belongs to him.
type alarm struct {
	due   time.Time
	timer int // index in timers, -1 when not there
}

func (a *alarm) when() *alarm { return a }

// Len implements [heap.Interface].
func (t timers[T]) Len() int { return len(t) }

// Less implements [heap.Interface].
func (t timers[T]) Less(i, j int) bool { return t[i].when().due.Before(t[j].when().due) }

// Swap implements [heap.Interface].
func (t timers[T]) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].when().timer, t[j].when().timer = i, j
}

// Push implements [heap.Interface].
func (t *timers[T]) Push(x any) {
	s := x.(T)
	s.when().timer = len(*t)
	*t = append(*t, s)
}

// Pop implements [heap.Interface].
func (t *timers[T]) Pop() any {
	last := len(*t) - 1
	s := (*t)[last]
	var none T
	(*t)[last] = none
	*t = (*t)[:last]
	s.when().timer = -1
	return s
}
