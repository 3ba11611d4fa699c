package resources

import (
	"sync"
	"time"
)

// surveys are kept of large files that were read: of many who read a file, one need find out what it is. A file is known by its
// state. If that does not tell that another content is there, the sums of the blocks do, as it is handed out: then the answer is
// broken off that was begun, and of the file in this state no survey is kept any more.
type surveys struct {
	mu     sync.Mutex           // guards what follows
	known  map[surveyed]*survey // nil: its state does not tell what is there
	blocks int                  // of all
}

// surveyed is what names a file and a content of it.
type surveyed struct {
	dev, ino             uint64
	size                 int64
	mtime, ctime         int64
	mtimeNano, ctimeNano int32
	measured             bool // it was asked what a text takes where it goes
}

const (
	mostSurveys = 64
	mostBlocks  = 16 << 10 // 8 bytes for each, of files of 720 MiB together
)

// rest is for how long a file has not changed when its state begins to tell one content from another: there are file systems whose
// times have two seconds.
const rest = 3 * time.Second

func nameSurveyed(s *stat, measured bool) surveyed {
	return surveyed{s.dev, s.ino, s.size, s.mtime, s.ctime, s.mtimeNano, s.ctimeNano, measured}
}

// of returns the survey of a file in this state, nil if none is known.
func (k *surveys) of(s *stat, measured bool) *survey {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[nameSurveyed(s, measured)]
}

// keep keeps the survey of a file, which began at that time, unless the file had changed only just before, or the system does not
// tell when it has.
func (k *surveys) keep(s *stat, found *survey, began time.Time) {
	if s.ctime == 0 || began.Sub(time.Unix(s.ctime, int64(s.ctimeNano))) < rest || len(found.sums) > mostBlocks {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) == mostSurveys || k.blocks+len(found.sums) > mostBlocks {
		k.known, k.blocks = make(map[surveyed]*survey), 0
	}
	name := nameSurveyed(s, found.asked)
	if _, known := k.known[name]; !known {
		k.known[name] = found
		k.blocks += len(found.sums)
	}
}

// forget lets go of a survey that is not true, and keeps none of that state again.
func (k *surveys) forget(s *stat, found *survey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if name := nameSurveyed(s, found.asked); k.known[name] == found {
		k.known[name] = nil
		k.blocks -= len(found.sums)
	}
}
