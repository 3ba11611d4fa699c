package resources

import (
	"errors"
	"io/fs"
	"maps"
	"sync"
)

// ahead is what reads found that the index did not hold. A reader has then seen what is yet to be told. Should it be again as
// the index has it before anybody looked, nothing would differ, and the reader would never know; so that is told as well.
type ahead struct {
	mu    sync.Mutex // guards reads
	reads map[string]aheadRead
}

type aheadRead struct {
	stat  *stat // nil: nothing was there
	asked bool  // a look at it was asked for
}

// mostAhead bounds the reads that are kept.
const mostAhead = 4096

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

// ask returns the paths that are to be looked at, each once: no event may tell of them. What was looked at then, and is still
// not as it was read, has an end here.
func (x *ahead) ask() (paths []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for rel, read := range x.reads {
		if read.asked {
			delete(x.reads, rel)
			continue
		}
		x.reads[rel] = aheadRead{read.stat, true}
		paths = append(paths, rel)
	}
	return paths
}

// noteRead takes note of how a read ended: it found s, a file in this state, or has this error. It reports false if the disk
// has changed since, so that it may have turned back before the note was there.
func (r *Root) noteRead(rd reading, s *stat, err error) (still bool) {
	switch {
	case rd.dirOnly, err == nil && s == nil: // a directory is read from the index
		return true
	case err == nil, errors.Is(err, errDenied) && s != nil && !s.readable:
	case errors.Is(err, errAbsent), errors.Is(err, fs.ErrNotExist):
		s = nil
	default:
		return true
	}
	if r.holds(rd.rel, s) || !r.ahead.note(rd.rel, s) {
		return true
	}
	now, _ := r.lookEarly(rd.rel)
	return now != unseen && alike(now, s)
}

// holds reports whether somebody who found rel in the state s knows what the index does.
func (r *Root) holds(rel string, s *stat) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	d, rest := r.tree.descend(rel)
	if f := d.file(rest); f != nil {
		was := f.stat.Load()
		return was == nil || alike(was, s)
	}
	if rest == "" || d.loaded {
		return s == nil
	}
	was, known := r.early[rel]
	return !known || was != unseen && alike(was, s)
}

// alike: a reader gets the same in both states. Nothing is got of what is nil, and of what cannot be read.
func alike(a, b *stat) bool {
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
		if _, told := a.keys[rel]; !told && !r.holds(rel, read.stat) {
			now, _ := r.lookEarly(rel)
			if now == unseen || !r.holds(rel, now) {
				continue // an event of it is on the way
			}
			a.key(rel)
		}
		r.ahead.settle(rel, read)
	}
}
