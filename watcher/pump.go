package watcher

import (
	"errors"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxPaths bounds the names the pump keeps, and the directories it keeps once there are more names.
const maxPaths = 4096

var errBound = errors.New("more changes at once than are kept apart")

// hints is what the events since the last take say.
type hints struct {
	dirty map[string]Evidence
	dirs  map[string]struct{} // what may differ at and below: parents of paths for which dirty had no room, and what is in doubt
	loss  error               // why events are missing, nil if none are
	audit bool                // the source may have lost watches without an event
	first time.Time           // when the first hint came
	last  time.Time           // when the latest came
}

// paths counts what the hints name; a loss counts as one, and so does an audit.
func (h *hints) paths() int {
	n := len(h.dirty) + len(h.dirs)
	if h.loss != nil {
		n++
	}
	if h.audit {
		n++
	}
	return n
}

// name reports whether path is among those that paths counts.
func (h *hints) name(path string) bool {
	_, dirty := h.dirty[path]
	_, dir := h.dirs[path]
	return dirty || dir
}

// pump reads a source as fast as it can and merges what it says. It makes no system call, so that the queue of the kernel
// stays short: with 20 µs of work per event two of five files of a burst are never named.
type pump struct {
	root    root
	barrier *barrier
	wake    chan struct{} // 1-buffered, never closed; sent to when the first hint comes

	mu sync.Mutex // guards h
	h  hints
}

func newPump(r root, b *barrier) *pump {
	return &pump{root: r, barrier: b, wake: make(chan struct{}, 1)}
}

// run ends when the source has closed both its channels.
func (p *pump) run(src source) {
	events, errs := src.Events(), src.Errors()
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				break
			}
			p.event(e)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				break
			}
			for range len(events) { // what came before the error, so that a mark among it is not taken for a later one
				if e, ok := <-events; ok {
					p.event(e)
				}
			}
			if src.Lossy(err) {
				p.lose(err)
				p.barrier.lose()
			}
		}
	}
}

func (p *pump) event(e fsnotify.Event) {
	if p.barrier.read(e.Name) {
		return
	}
	if path, ok := p.root.rel(e.Name); ok {
		p.merge(path, evidence(e.Op))
	}
}

func evidence(op fsnotify.Op) (e Evidence) {
	if op&(fsnotify.Create|fsnotify.Write) != 0 {
		e |= Content
	}
	if op.Has(fsnotify.Create) {
		e |= Created
	}
	if op&(fsnotify.Remove|fsnotify.Rename) != 0 {
		e |= Structure
	}
	if op&fsnotify.Chmod != 0 {
		e |= Attribute
	}
	return e
}

// merge notes that path may have changed.
func (p *pump) merge(path string, e Evidence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touchLocked()
	h := &p.h
	if _, known := h.dirty[path]; known || len(h.dirty) < maxPaths {
		if h.dirty == nil {
			h.dirty = map[string]Evidence{}
		}
		h.dirty[path] |= e
		return
	}
	if path != "" {
		path = parent(path)
	}
	h.doubt(path)
}

// doubt notes that anything may have changed at and below dir, without events.
func (p *pump) doubt(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touchLocked()
	p.h.doubt(dir)
}

func (h *hints) doubt(path string) {
	if _, known := h.dirs[path]; known || len(h.dirs) < maxPaths {
		if h.dirs == nil {
			h.dirs = map[string]struct{}{}
		}
		h.dirs[path] = struct{}{}
		return
	}
	if h.loss == nil {
		h.loss = errBound
	}
}

// audit notes that watches may have ended without an event.
func (p *pump) audit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touchLocked()
	p.h.audit = true
}

// lose notes that anything may have changed.
func (p *pump) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touchLocked()
	p.h.loss = err
}

func (p *pump) touchLocked() {
	now := time.Now()
	if p.h.paths() == 0 {
		p.h.first = now
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	p.h.last = now
}

// due is when the window of the hints closes by s, zero when there are none. Unless it is part of a burst it has closed if
// somebody waits for it.
func (p *pump) due(s *settle, awaited bool) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.h.paths() == 0 {
		return time.Time{}
	}
	if awaited && !s.burst && !s.over(&p.h) {
		return p.h.first
	}
	return s.due(&p.h)
}

// says is the evidence for path that no window has taken yet.
func (p *pump) says(path string) Evidence {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.h.dirty[path]
}

// take hands out the hints and starts anew.
func (p *pump) take() hints {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.h
	p.h = hints{}
	return h
}
