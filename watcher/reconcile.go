package watcher

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
)

// maxTries bounds how often one walk looks at a directory that changes under its eyes.
const maxTries = 4

// tree makes the watches equal to the directories on disk. It relies on this: whatever happens to a name while a walk
// looks at it yields an event for that name, or for an ancestor's, that is taken after the walk; structure evidence drops the
// directory with everything below, and the next walk begins anew there. So a walk may be fooled by a directory that takes
// another's place and goes again, but never the last walk.
type tree struct {
	root    root
	dirs    *registry
	watches *watches
	disk    disk
	skip    func(dir string) bool
	voice   *voice

	barred error          // what permission the root lacked when it was last visited, nil if it could be listed
	said   map[error]bool // conditions that were logged, see complain
	closed bool           // that permissions keep directories from being looked at was said
	slowly bool           // a slow scan is under way
	walks  uint64
	visits uint64
}

func newTree(w *Watcher, ws *watches) *tree {
	return &tree{root: w.root, dirs: w.dirs, watches: ws, disk: w.disk, skip: w.skip, voice: w.voice, said: map[error]bool{}}
}

func (t *tree) stat(path string) (stat, error) { return t.disk.stat(t.root.abs(path), path == "") }

// drop ends the watches at and below path.
func (t *tree) drop(path string) {
	for _, p := range t.dirs.remove(path) {
		t.watches.Remove(t.root.abs(p))
	}
}

// walk goes over some of the tree, level by level: without watches for all directories the shallow ones have them.
type walk struct {
	*tree
	verify bool           // no registered watch is trusted: each is added again
	number uint64         // of the walk
	next   []string       // absolute paths of the next level
	tries  map[string]int // visits of a path beyond the first
	fresh  []string       // what is known now and was not before
}

// reconcile walks the trees at tops. It returns the directories it found that were not registered, those below others
// left out: they have to be listed by whoever trusts older listings.
func (t *tree) reconcile(ctx context.Context, tops []string, verify bool) (fresh []string) {
	t.walks++
	t.watches.walk()
	w := &walk{tree: t, verify: verify, number: t.walks, tries: map[string]int{}}
	for _, path := range topmost(tops) {
		w.next = append(w.next, t.root.abs(path))
	}
	for w.more() {
		level := w.next
		w.next = nil
		for _, abs := range level {
			if ctx.Err() != nil {
				return w.fresh
			}
			runtime.Gosched() // a walk must not keep a processor for a whole time slice (10 ms) from who answers a client
			w.visit(abs)
		}
	}
	return w.fresh
}

// more reports whether there is another level. When all are done, directories that lost their twin have their turn: what looked
// like a directory in two places may have been one on its way, and then only the place it left has an event to come.
func (w *walk) more() bool {
	if len(w.next) == 0 {
		for _, path := range w.dirs.orphans() {
			w.next = append(w.next, w.root.abs(path))
		}
	}
	return len(w.next) > 0
}

// visit watches, then lists, then looks whether the directory is still there.
func (w *walk) visit(abs string) {
	path, _ := w.root.rel(abs)
	switch {
	case path == "":
	case !w.dirs.holds(parent(path)):
		return
	case w.skip(path):
		w.drop(path)
		return
	}
	f, err := w.disk.open(abs, path == "")
	if err != nil {
		w.unopened(path, err)
		return
	}
	defer f.Close()
	n := w.watch(abs, path, f)
	if n == nil {
		return
	}
	w.list(n, abs, f)
	if s, err := w.stat(path); err != nil || s.id != n.id {
		w.drop(path)
		w.revisit(path)
	}
}

// watch returns the node of the directory f at path, nil if it cannot be watched.
func (w *walk) watch(abs, path string, f folder) *node {
	id := f.id()
	n := w.dirs.byPath[path]
	if n != nil && (n.left || n.id != id) {
		w.drop(path)
		n = nil
	}
	if n != nil && !w.verify || n == nil && !w.claim(path, id) {
		return n
	}
	// A watch in doubt is added again, not removed first: each removal puts an event into the queue that overflowed.
	// If another directory is at the path by now, fsnotify may keep a watch it no longer knows; it does no harm.
	add := w.watches.Add
	if n != nil {
		add = w.watches.Renew
	}
	if err := add(abs, f); err != nil {
		w.drop(path)
		w.refused(path, err)
		return nil
	}
	if n == nil {
		n = w.dirs.add(path, id)
		w.found(n)
	}
	return n
}

// claim makes sure that no other path has the directory: the source would not add it, and say nothing.
func (w *walk) claim(path string, id identity) bool {
	if other := w.dirs.byID[id]; other != nil {
		if s, err := w.stat(other.path); err == nil && s.id == id {
			w.leave(path, errTwice)
			w.dirs.twin(w.dirs.byPath[path], id)
			return false
		}
		w.drop(other.path)
		w.revisit(other.path)
		if path != "" && !w.dirs.holds(parent(path)) {
			return false // the other was an ancestor
		}
	}
	return true
}

// list goes on to the directories in f, which is n's, and drops those no longer in it.
func (w *walk) list(n *node, abs string, f folder) {
	delete(w.dirs.slow, n)
	if w.verify || n.found == w.number { // it is in Rescan then, and what happens from now on has events
		n.modified.Store(f.modified())
	}
	n.shut = !f.searchable()
	w.dirs.shut(n, n.shut)
	if n.path == "" {
		w.barred = nil
		if n.shut {
			w.barred = fs.ErrPermission
		}
	}
	w.visits++
	prefix := abs + string(filepath.Separator)
	if n.path == "" {
		prefix = w.root.prefix
	}
	err := f.subdirs(func(name string) {
		child := prefix + name
		w.next = append(w.next, child)
		path, _ := w.root.rel(child)
		if c := w.dirs.byPath[path]; c != nil {
			c.listedIn = w.visits
		}
	})
	if err != nil {
		if !gone(err) {
			w.unlisted(n, err)
		}
		return
	}
	for c := n.child; c != nil; {
		next := c.next
		if c.listedIn != w.visits {
			w.drop(c.path)
		}
		c = next
	}
}

// unopened handles a directory that could not be opened. A watch survives the loss of permissions, so it is kept, unless it is
// in doubt: it cannot be added again now, and will be when an event tells that permissions changed.
func (w *walk) unopened(path string, err error) {
	n := w.dirs.byPath[path]
	s, statErr := w.stat(path)
	denied := errors.Is(err, fs.ErrPermission)
	if path == "" && denied {
		w.barred = err
	}
	same := n != nil && !n.left && statErr == nil && s.id == n.id && !(denied && w.verify)
	if same {
		n.shut = true
		w.dirs.shut(n, denied)
	} else {
		w.drop(path)
	}
	switch {
	case gone(err), statErr == nil && !s.dir:
	case denied && path != "": // nobody would tell of the root's permissions, as its parent is not watched
		if !same {
			w.dirs.deny(path)
		}
	case same:
		w.unlisted(n, err)
	default:
		w.leave(path, err)
		w.dirs.byPath[path].shut = true
	}
}

// refused handles a directory that could be opened but not watched.
func (w *walk) refused(path string, err error) {
	switch {
	case gone(err):
		w.revisit(path)
	case errors.Is(err, fs.ErrPermission) && path != "":
		w.dirs.deny(path)
	default:
		w.leave(path, err)
	}
}

// leave gives path up for now, because of err.
func (w *walk) leave(path string, err error) {
	w.complain(path, err)
	w.found(w.dirs.leave(path))
}

// unlisted has n, which is watched but could not be listed because of err, looked at slowly.
func (w *walk) unlisted(n *node, err error) {
	w.complain(n.path, err)
	n.shut = true
	w.dirs.slow[n] = struct{}{}
}

func (w *walk) found(n *node) {
	n.found = w.number
	if n.parent == nil || n.parent.found != w.number {
		w.fresh = append(w.fresh, n.path)
	}
}

// revisit visits path, which was dropped, again. If that happens too often the events that say why are on the way; should
// none come, the file system gives one directory several identities, and the slow scans have to do.
func (w *walk) revisit(path string) {
	if w.tries[path]++; w.tries[path] < maxTries {
		w.next = append(w.next, w.root.abs(path))
	} else if w.dirs.byPath[path] == nil && (path == "" || w.dirs.holds(parent(path))) {
		w.leave(path, errUnsteady)
	}
}

// audit compares the registry with what the source believes and returns what the source does not know, dropped.
func (t *tree) audit() (missing []string) {
	known := map[string]struct{}{}
	for _, abs := range t.watches.List() {
		path, ok := t.root.rel(abs)
		if !ok || !t.dirs.holds(path) {
			t.watches.Remove(abs)
			continue
		}
		known[path] = struct{}{}
	}
	for _, path := range t.dirs.watched() {
		if _, ok := known[path]; !ok {
			t.drop(path)
			missing = append(missing, path)
		}
	}
	return missing
}
