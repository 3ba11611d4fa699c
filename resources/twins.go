package resources

import (
	"slices"
	"sync"
)

// twins knows which served files are hard links to one inode: a write through one changes all, and is notified of under
// one name only. Only files whose state was taken are known, and no others can be subscribed to. One that had no other name
// then is found when another is met.
type twins struct {
	mu       sync.Mutex // guards what follows
	files    map[inode][]twinName
	searched map[inode]struct{} // all names that the index holds are known, and later ones will be
}

// twinName is one of the names. The file tells it from a later one at the same path.
type twinName struct {
	rel  string
	file *file
}

type inode struct{ dev, ino uint64 }

func (t *twins) note(rel string, f *file, s *stat) {
	const most = 64 // names of one inode; more are not followed
	if s.link {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := inode{s.dev, s.ino}
	if s.nlink < 2 { // not noted, so that a name that it gets later makes another search worth while
		delete(t.searched, id)
		return
	}
	if t.files == nil {
		t.files = make(map[inode][]twinName)
	}
	if list := t.files[id]; len(list) < most && !slices.Contains(list, twinName{rel, f}) {
		t.files[id] = append(list, twinName{rel, f})
	}
}

// forget is told whatever the number of links: it may have fallen since.
func (t *twins) forget(f *file, s *stat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) == 0 || s.link {
		return
	}
	id := inode{s.dev, s.ino}
	list := slices.DeleteFunc(t.files[id], func(n twinName) bool { return n.file == f })
	if len(list) == 0 {
		delete(t.files, id)
		delete(t.searched, id)
	} else {
		t.files[id] = list
	}
}

// partly reports whether the inode that s tells of may have names in the index that are not known.
func (t *twins) partly(s *stat) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := inode{s.dev, s.ino}
	_, searched := t.searched[id]
	return !searched && len(t.files[id]) < int(s.nlink)
}

// found is told that all names of an inode in the index were noted. That there is none is worth knowing too, if the inode
// is alive: what has hidden names only may be written to all the time.
func (t *twins) found(id inode, alive bool) {
	const most = 1 << 16 // nobody tells when an inode without a name in the index is gone
	t.mu.Lock()
	defer t.mu.Unlock()
	if !alive && len(t.files[id]) == 0 {
		return
	}
	if t.searched == nil || len(t.searched) >= most {
		t.searched = make(map[inode]struct{})
	}
	t.searched[id] = struct{}{}
}

// of returns the names of the inode that s tells of, but for f's.
func (t *twins) of(f *file, s *stat) []twinName {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.files[inode{s.dev, s.ino}]), func(n twinName) bool { return n.file == f })
}
