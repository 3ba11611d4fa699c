package resources

import (
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
)

// roll is what a directory has of one kind, by name. It is never edited, since readers may hold it: with makes another one that
// shares all but a few pieces with it, so that a change costs a directory of 200,000 little more than one of 200.
type roll[E listed] struct{ pieces []piece[E] }

type listed interface {
	comparable
	called() string
}

// piece is a run of a roll.
type piece[E listed] struct {
	from int // what comes before it in the roll
	list []E // never empty
}

// pieceLen is how long pieces are, within a factor of two, where there are several. A change copies one, and what there is to
// say of each.
const pieceLen = 512

// rollOf makes a roll of what is in order. The list is the roll's from now on.
func rollOf[E listed](list []E) (r roll[E]) {
	r.add(list)
	return r
}

func (r *roll[E]) len() int {
	if len(r.pieces) == 0 {
		return 0
	}
	last := r.pieces[len(r.pieces)-1]
	return last.from + len(last.list)
}

// at returns the entry number i.
func (r *roll[E]) at(i int) E {
	p := r.pieces[r.holder(i)]
	return p.list[i-p.from]
}

// holder returns which piece the entry number i is in.
func (r *roll[E]) holder(i int) int {
	return sort.Search(len(r.pieces), func(k int) bool { return r.pieces[k].from > i }) - 1
}

// search returns the number of the entry name, or what it would have.
func (r *roll[E]) search(name string) (i int, found bool) {
	k := r.home(name)
	if k < 0 {
		return 0, false
	}
	i, found = slices.BinarySearchFunc(r.pieces[k].list, name, byName)
	return r.pieces[k].from + i, found
}

// find returns the entry name, or the zero value.
func (r *roll[E]) find(name string) (e E) {
	if k := r.home(name); k >= 0 {
		if i, found := slices.BinarySearchFunc(r.pieces[k].list, name, byName); found {
			return r.pieces[k].list[i]
		}
	}
	return e
}

// home returns which piece name belongs in, a negative number for before all.
func (r *roll[E]) home(name string) int {
	return sort.Search(len(r.pieces), func(k int) bool { return r.pieces[k].list[0].called() > name }) - 1
}

func byName[E listed](e E, name string) int { return strings.Compare(e.called(), name) }

func (r *roll[E]) all() iter.Seq[E] { return r.from(0) }

// from goes over the entries from number i on.
func (r *roll[E]) from(i int) iter.Seq[E] {
	return func(yield func(E) bool) {
		for run := range r.runs(i) {
			for _, e := range run {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// runs is from, many at a time, not to be edited.
func (r *roll[E]) runs(i int) iter.Seq[[]E] {
	return func(yield func([]E) bool) {
		if i >= r.len() {
			return
		}
		for _, p := range r.pieces[r.holder(i):] {
			if !yield(p.list[max(i-p.from, 0):]) {
				return
			}
		}
	}
}

// list returns the entries, not to be edited.
func (r *roll[E]) list() []E {
	if len(r.pieces) == 1 {
		return r.pieces[0].list
	}
	out := make([]E, 0, r.len())
	for _, p := range r.pieces {
		out = append(out, p.list...)
	}
	return out
}

// with returns the roll after changes. The zero value is a removal.
func (r *roll[E]) with(changes map[string]E) roll[E] {
	if len(changes) == 0 {
		return *r
	}
	out := roll[E]{pieces: make([]piece[E], 0, len(r.pieces)+1)}
	old := r.pieces
	for names := slices.Sorted(maps.Keys(changes)); len(names) > 0; {
		rest := roll[E]{pieces: old}
		k := max(rest.home(names[0]), 0)
		for _, p := range old[:k] {
			out.append(p.list)
		}
		var list []E
		if old = old[k:]; len(old) > 0 {
			list, old = old[0].list, old[1:]
		}
		here := len(names) // so many belong in that piece
		if len(old) > 0 {
			here, _ = slices.BinarySearch(names, old[0].list[0].called())
		}
		out.add(merge(list, names[:here], changes))
		names = names[here:]
	}
	for _, p := range old {
		out.append(p.list)
	}
	return out
}

// add appends a list of any length, which joins the piece before if both are short.
func (r *roll[E]) add(list []E) {
	if n := len(r.pieces); n > 0 && len(r.pieces[n-1].list)+len(list) <= pieceLen {
		list = slices.Concat(r.pieces[n-1].list, list)
		r.pieces = r.pieces[:n-1]
	}
	for len(list) > 2*pieceLen {
		r.append(list[:pieceLen:pieceLen])
		list = list[pieceLen:]
	}
	if len(list) > 0 {
		r.append(list)
	}
}

func (r *roll[E]) append(list []E) { r.pieces = append(r.pieces, piece[E]{r.len(), list}) }

// merge returns what becomes of a list with the changes of the names, which are in order. The old list is left as it is.
func merge[E listed](old []E, names []string, changes map[string]E) []E {
	var none E
	out := make([]E, 0, len(old)+len(names))
	for _, name := range names {
		i, found := slices.BinarySearchFunc(old, name, byName)
		out = append(out, old[:i]...)
		if found {
			i++
		}
		old = old[i:]
		if e := changes[name]; e != none {
			out = append(out, e)
		}
	}
	return append(out, old...)
}
