package watcher

import (
	"context"
	"sync"
	"time"
)

const (
	sweepEvery = 20 * time.Second // between the beginnings of two passes
	sweepPiece = 64               // directories looked at in one go, some 0.3 ms
	sweepRest  = 99               // times what a piece took is its rest, so that a pass costs 1 % of a processor
	sweepPause = time.Second      // and no more: a disk that answers slowly costs no processor

	// suspectRest is how long the kernel may take to tell of what a look came upon.
	suspectRest = 300 * time.Millisecond

	unheardOver = 3 // passes that find nothing, and the condition is over
)

// sweep looks at the watched directories for what no event told of. It has a goroutine of its own, so that a disk which
// answers slowly holds up no event, and leaves what it finds to the loop, as doubts.
type sweep struct {
	dirs    *registry
	disk    disk
	root    root
	skip    func(dir string) bool
	pump    *pump
	barrier *barrier
	polled  func(path string) bool // the poller sees to the directory
	mounts  *mounts                // guarded by remounting while Run runs
	voice   *voice
	wake    chan struct{} // 1-buffered, never closed; sent to with each check of the root, so that an idle sweep needs no timer

	remounting sync.Mutex // whoever looks at the mounts holds it until what changed is in doubt

	unheard int // passes that may find nothing until it is said that the condition is over, 0 if it is
}

// suspect is a directory that differs from what is known of it.
type suspect struct {
	*node
	other bool // another directory is at the path, or none
}

// run returns when ctx ends.
func (s *sweep) run(ctx context.Context) {
	next := time.Now().Add(jitter(sweepEvery))
	for s.rest(ctx, 0) {
		if !time.Now().Before(next) {
			next = time.Now().Add(jitter(sweepEvery))
			s.pass(ctx)
		}
	}
}

// rouse has the sweep see whether mounts changed, and whether it is time for a pass.
func (s *sweep) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// rest waits for d, and if that is 0 to be roused. Mounts are seen to meanwhile. It returns false as soon as ctx ends.
func (s *sweep) rest(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-over:
			return true
		case <-s.wake:
			s.remount()
			if d == 0 {
				return true
			}
		}
	}
}

// pass goes over every watched directory once.
func (s *sweep) pass(ctx context.Context) {
	var found bool
	piece := make([]*node, sweepPiece)
	for at := int(^uint(0) >> 1); at > 0; {
		var nodes []*node
		nodes, at = s.dirs.piece(piece, at)
		start := time.Now()
		suspects := s.look(nodes)
		took := time.Since(start)
		if len(suspects) > 0 {
			found = s.judge(ctx, suspects) || found
		}
		if !s.rest(ctx, max(min(sweepRest*took, sweepPause), time.Millisecond)) {
			return
		}
	}
	if s.unheard > 0 && !found && ctx.Err() == nil {
		if s.unheard--; s.unheard == 0 {
			s.voice.ends(unheardEnds)
		}
	}
}

// look returns which of the directories are not what they were. The root is for the loop to check, but for what is in it.
func (s *sweep) look(nodes []*node) (suspects []suspect) {
	for _, n := range nodes {
		if s.polled(n.path) {
			continue
		}
		heard := n.heard.Swap(false)
		now, err := s.disk.stat(s.root.abs(n.path), n.path == "")
		switch other := err != nil || now.id != n.id; {
		case err != nil && !gone(err): // it may be as it was
		case other && n.path != "":
			suspects = append(suspects, suspect{n, true})
		case other:
		case n.modified.Swap(now.modified) != now.modified && !heard:
			suspects = append(suspects, suspect{n, false})
		}
	}
	return suspects
}

// judge puts those into doubt of which no event has told by now, and reports whether there are any.
func (s *sweep) judge(ctx context.Context, suspects []suspect) (found bool) {
	if !s.rest(ctx, suspectRest) || s.barrier.wait(ctx) != nil {
		return false
	}
	for _, x := range suspects {
		if !s.dirs.has(x.node) || !x.other && x.heard.Load() {
			continue
		}
		if s.unheard == 0 {
			s.voice.begins(unheardBegins, nil, "first", s.root.abs(x.path))
		}
		s.unheard = unheardOver
		found = true
		s.pump.doubt(x.path)
	}
	return found
}

// remount puts into doubt what lies where something was mounted or unmounted. Any goroutine of Run may call it.
func (s *sweep) remount() {
	s.remounting.Lock()
	defer s.remounting.Unlock()
	points, look := s.mounts.changed(s.root.dir)
	var first string
	for _, path := range points {
		if path != "" && (!s.dirs.knows(parent(path)) || s.skip(path)) {
			continue
		}
		if first == "" {
			first = s.root.abs(path)
			s.voice.once(mountsChanged, "first", first)
		}
		s.pump.doubt(path)
	}
	if look {
		s.pump.audit()
	}
}
