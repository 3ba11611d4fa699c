package resources

import (
	"sync"
	"time"
)

// surveyCache keeps surveys of large files that were read: of many who read a file, one need find out what it is. A file is known by
// its state. If that does not tell that another content is there, the sums of the blocks do, as it is handed out: then the answer is
// broken off that was begun, and of the file in this state no survey is kept any more.
type surveyCache struct {
	mu     sync.Mutex             // guards what follows
	known  map[surveyKey]*survey  // by what each is of
	blocks int                    // of all of known
	mute   map[fileState]struct{} // those that did not tell one content from another, the latest
}

// fileState is what is believed to name a file and a content of it.
type fileState struct {
	dev, ino             uint64
	size                 int64
	mtime, ctime         int64
	mtimeNano, ctimeNano int32
}

// surveyKey is what a survey is of.
type surveyKey struct {
	fileState
	measured bool // it was asked what a text takes where it goes
}

const (
	mostSurveys = 64
	mostBlocks  = 16 << 10 // 8 bytes for each, of files of 720 MiB together
	mostMute    = 1 << 10  // they are few: each has broken off an answer
)

// rest is for how long a file has not changed when its state begins to tell one content from another: there are file systems whose
// times have two seconds.
const rest = 3 * time.Second

func stateOf(s *stat) fileState {
	return fileState{s.dev, s.ino, s.size, s.mtime, s.ctime, s.mtimeNano, s.ctimeNano}
}

// of returns the survey of a file in this state, nil if none is known.
func (k *surveyCache) of(s *stat, measured bool) *survey {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[surveyKey{stateOf(s), measured}]
}

// keep keeps the survey of a file, which began at that time, unless the file had changed only just before, or the system does not
// tell when it has: it reports false, and nothing is held against that state.
func (k *surveyCache) keep(s *stat, found *survey, began time.Time) bool {
	if s.ctime == 0 || began.Sub(time.Unix(s.ctime, int64(s.ctimeNano))) < rest {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	name := surveyKey{stateOf(s), found.asked}
	_, mute := k.mute[name.fileState]
	if _, known := k.known[name]; known || mute || len(found.sums) > mostBlocks {
		return true
	}
	if k.known == nil || len(k.known) == mostSurveys || k.blocks+len(found.sums) > mostBlocks {
		k.known, k.blocks = make(map[surveyKey]*survey), 0
	}
	k.known[name] = found
	k.blocks += len(found.sums)
	return true
}

// forget lets go of all surveys of a file in this state, of which one is not true, and has none kept again.
func (k *surveyCache) forget(s *stat) {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := stateOf(s)
	for _, measured := range []bool{false, true} {
		name := surveyKey{state, measured}
		if found := k.known[name]; found != nil {
			delete(k.known, name)
			k.blocks -= len(found.sums)
		}
	}
	if k.mute == nil || len(k.mute) == mostMute {
		k.mute = make(map[fileState]struct{})
	}
	k.mute[state] = struct{}{}
}
