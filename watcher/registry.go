package watcher

import (
	"slices"
	"sync"
	"sync/atomic"
)

// node is a directory of the registry. A registered directory's parent is registered too, as watches are added from the
// root down, so the nodes form a tree.
type node struct {
	path string
	id   identity
	left bool // it owns no watch: none could be had, or it has one under another path, or permission was denied
	shut bool // it could not be opened, listed or searched when last visited

	heard    atomic.Bool  // an event named it, or something in it, since the sweep was last there
	modified atomic.Int64 // what it was when it was last listed, or the sweep was there
	at       int          // its place in the registry's order

	parent     *node
	child      *node // first of a list linked by prev and next
	prev, next *node
	found      uint64 // the walk that registered it
	listedIn   uint64 // the visit that last saw it in its parent's listing
}

// registry knows which path is watched and which directory was there when the watch was added. One goroutine changes
// it and may read without the lock.
type registry struct {
	mu     sync.Mutex // guards byPath, order and which nodes are left against readers in other goroutines
	byPath map[string]*node
	byID   map[identity]*node // watched ones only
	order  []*node            // watched ones, for the sweep: new ones come last, and the last fills a gap
	denied map[*node]struct{} // left ones for which an event will tell of other permissions, theirs or of a directory above
	twins  map[*node]struct{} // left ones whose directory is watched under another path
	closed map[*node]struct{} // whose names, or what is behind them, permissions keep from being looked at; never the root
	slow   map[*node]struct{} // to be looked at again without an event: left ones, and those that could not be listed
}

func newRegistry() *registry {
	return &registry{
		byPath: map[string]*node{},
		byID:   map[identity]*node{},
		denied: map[*node]struct{}{},
		twins:  map[*node]struct{}{},
		closed: map[*node]struct{}{},
		slow:   map[*node]struct{}{},
	}
}

// add registers a directory that is watched.
func (r *registry) add(path string, id identity) *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.linkLocked(path)
	n.id = id
	n.at = len(r.order)
	r.order = append(r.order, n)
	r.byID[id] = n
	return n
}

// leave registers a directory that is not watched, and is to be looked at slowly.
func (r *registry) leave(path string) *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.linkLocked(path)
	n.left = true
	r.slow[n] = struct{}{}
	return n
}

// deny registers a directory that is not watched for want of permission.
func (r *registry) deny(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.linkLocked(path)
	n.left = true
	r.denied[n] = struct{}{}
	r.shut(n, true)
}

// shut notes whether permissions keep n from being looked at.
func (r *registry) shut(n *node, closed bool) {
	if closed && n.path != "" {
		r.closed[n] = struct{}{}
	} else {
		delete(r.closed, n)
	}
}

// twin notes that n was left because the directory with id is watched under another path.
func (r *registry) twin(n *node, id identity) {
	n.id = id
	r.twins[n] = struct{}{}
}

// orphans are the twins whose directory is watched no longer.
func (r *registry) orphans() (paths []string) {
	for n := range r.twins {
		if r.byID[n.id] == nil {
			paths = append(paths, n.path)
		}
	}
	return paths
}

func (r *registry) linkLocked(path string) *node {
	if r.byPath[path] != nil {
		panic("watcher: a directory was registered twice: " + path)
	}
	n := &node{path: path}
	if path != "" {
		n.parent = r.byPath[parent(path)]
		if n.next = n.parent.child; n.next != nil {
			n.next.prev = n
		}
		n.parent.child = n
	}
	r.byPath[path] = n
	return n
}

// holds reports whether the directory at path is watched.
func (r *registry) holds(path string) bool {
	n := r.byPath[path]
	return n != nil && !n.left
}

// remove forgets the directory at path and everything below, and returns what was watched.
func (r *registry) remove(path string) (watched []string) {
	top := r.byPath[path]
	if top == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case top.prev != nil:
		top.prev.next = top.next
	case top.parent != nil:
		top.parent.child = top.next
	}
	if top.next != nil {
		top.next.prev = top.prev
	}
	// Without recursion: a tree may be as deep as its path is long.
	for todo := []*node{top}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for c := n.child; c != nil; c = c.next {
			todo = append(todo, c)
		}
		delete(r.byPath, n.path)
		delete(r.denied, n)
		delete(r.twins, n)
		delete(r.closed, n)
		delete(r.slow, n)
		if !n.left {
			if r.byID[n.id] == n {
				delete(r.byID, n.id)
			}
			last := len(r.order) - 1
			r.order[n.at] = r.order[last]
			r.order[n.at].at = n.at
			r.order[last] = nil
			r.order = r.order[:last]
			watched = append(watched, n.path)
		}
	}
	return watched
}

func (r *registry) watched() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	paths := make([]string, 0, len(r.byPath))
	for p, n := range r.byPath {
		if !n.left {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// piece returns at most len(into) of the watched nodes whose place is below at, the last first, and where to go on. Who goes
// from the end to the start misses none that was there all the time, since only what was passed already, or is new, fills a gap.
func (r *registry) piece(into []*node, at int) ([]*node, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at = min(at, len(r.order))
	from := max(at-len(into), 0)
	return into[:copy(into, r.order[from:at])], from
}

// count is how many directories are watched, and how many are looked at every few seconds because they cannot be.
func (r *registry) count() (watched, unwatched int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.order), len(r.byPath) - len(r.order) - len(r.denied)
}

// hear notes that an event named path. Only the goroutine that changes the registry may call it.
func (r *registry) hear(path string) {
	if n := r.byPath[path]; n != nil {
		n.heard.Store(true)
	}
	if path == "" {
		return
	}
	if n := r.byPath[parent(path)]; n != nil {
		n.heard.Store(true)
	}
}

// knows reports whether there is a directory at path, watched or not.
func (r *registry) knows(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byPath[path] != nil
}

// has reports whether n is registered still.
func (r *registry) has(n *node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byPath[n.path] == n
}
