package resources

import (
	"errors"
	"maps"
	"sync"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// ahead is what reads found that the index did not hold. A reader has then seen what is yet to be told. Should it be again as
// the index has it before anybody looked, nothing would differ, and the reader would never know; so that is told as well.
type ahead struct {
	mu    sync.Mutex // guards reads
	reads map[string]aheadRead
}

type aheadRead struct {
	stat  *stat // nil: nothing was there
	asked int   // so many looks at it were asked for
}

const (
	mostAhead = 4096 // reads that are kept; beyond it the index is brought up to date before a read is answered
	mostAsked = 8    // looks for one read: each may come late, or while something else is there for a moment
)

// note reports false if there is no room.
func (x *ahead) note(rel string, s *stat) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.reads[rel]; !known && len(x.reads) >= mostAhead {
		return false
	}
	if x.reads == nil {
		x.reads = make(map[string]aheadRead)
	}
	x.reads[rel] = aheadRead{stat: s}
	return true
}

func (x *ahead) all() map[string]aheadRead {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.reads)
}

// settle forgets a read, unless there was another one since.
func (x *ahead) settle(rel string, was aheadRead) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.reads[rel].stat == was.stat {
		delete(x.reads, rel)
	}
}

// ask returns the paths that are to be looked at: no event may tell of them. What was looked at so often, and is still not as it
// was read, has an end here.
func (x *ahead) ask() (paths []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for rel, read := range x.reads {
		if read.asked == mostAsked {
			delete(x.reads, rel)
			continue
		}
		x.reads[rel] = aheadRead{read.stat, read.asked + 1}
		paths = append(paths, rel)
	}
	return paths
}

// aFolder stands for a directory, whose content readers have from the index.
var aFolder = &stat{}

// noteRead takes note of how a read ended: it found s, a file in this state, or has this error. It returns errMoved if the disk
// has changed since, so that it may have turned back before the note was there, and errStale if there is no room for the note.
func (r *Root) noteRead(rd reading, s *stat, err error) (again error) {
	switch {
	case errors.Is(err, errMoved):
		return errMoved
	case err == nil, errors.As(err, new(*mcp.TooLargeError)):
		if s == nil { // a directory, which is read from the index
			return nil
		}
	case errors.Is(err, errDenied):
		if s.readable { // the bits do not tell why, or did not yet when they were looked at
			return r.rested(rd.rel, s)
		}
	case errors.As(err, new(needsRoom)):
		return nil
	case isAbsent(explain("", err)):
		s = nil
	default:
		return nil
	}
	was := r.held(rd.rel)
	if alike(was, s) || rd.dirOnly && was != aFolder {
		return nil
	}
	if !r.ahead.note(rd.rel, s) {
		return errStale
	}
	if now := r.seen(rd.rel); now != unseen && !alike(now, s) && (!rd.dirOnly || now == aFolder) {
		return errMoved
	}
	return nil
}

// rested returns errMoved unless the file at rel is as it was, its permissions included.
func (r *Root) rested(rel string, was *stat) error {
	if now := r.seen(rel); now == nil || now != unseen && !(now.readable && now.untorn(was)) {
		return errMoved
	}
	return nil
}

// held is what the index has at rel: a file's state, aFolder, nil for nothing, or unseen if that is not known.
func (r *Root) held(rel string) *stat {
	r.mu.RLock()
	defer r.mu.RUnlock()
	d, rest := r.tree.descend(rel)
	if rest == "" {
		return aFolder
	}
	if f := d.file(rest); f != nil {
		if was := f.stat.Load(); was != nil {
			return was
		}
		return unseen
	}
	if was, known := r.early[rel]; known && !d.loaded {
		return was
	} else if !d.loaded {
		return unseen
	}
	return nil
}

// seen is what the disk has at rel, as held says it.
func (r *Root) seen(rel string) *stat {
	s, isDir := r.lookEarly(rel)
	if isDir {
		return aFolder
	}
	return s
}

// alike: a reader gets the same in both states. Nothing is got of what is nil, and of what cannot be read; what is not known is
// like everything.
func alike(a, b *stat) bool {
	switch {
	case a == b, a == unseen, b == unseen:
		return true
	case a == aFolder, b == aFolder:
		return false
	}
	none, other := a == nil || !a.readable, b == nil || !b.readable
	return none == other && (none || a.sameContent(b))
}

// correctReads names what readers have found otherwise than it is, unless this batch does or a later one will.
func (a *apply) correctReads() {
	r := a.root
	for rel, read := range r.ahead.all() {
		if _, wait := a.moment[rel]; wait {
			continue
		}
		was := r.held(rel)
		_, told := a.keys[rel]
		if _, folder := a.folders[rel]; !told && !folder && !alike(was, read.stat) {
			now := r.seen(rel)
			if now == unseen || !alike(was, now) {
				continue // an event of it is on the way
			}
			if now == aFolder {
				a.folders = setOf(a.folders, rel)
			} else {
				a.key(rel)
			}
		}
		r.ahead.settle(rel, read)
	}
}
