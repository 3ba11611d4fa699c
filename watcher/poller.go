package watcher

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
)

// poller finds out by looks what changes in single directories, and tells the pump, as a source does by events.
type poller struct {
	disk  disk
	pump  *pump
	voice *voice
	wake  chan struct{} // 1-buffered, never closed; sent to when there may be something to do sooner

	mu      sync.Mutex // guards what follows
	dirs    map[string]*polled
	recent  recent
	asked   bool // there is a reason to have the next pass soon
	probes  probes
	failed  bool           // a look failed in this pass
	trouble map[error]bool // conditions that were logged and are not over
}

func newPoller(v *voice) *poller {
	return &poller{
		voice:   v,
		wake:    make(chan struct{}, 1),
		dirs:    map[string]*polled{},
		trouble: map[error]bool{},
	}
}

// polled is a directory that is looked at.
type polled struct {
	path, abs string
	id        identity
	removed   atomic.Bool
	last      atomic.Bool // the look that begins next is the last one

	// What follows is for the goroutine that looks, once the directory is added.
	self    signature
	place   int64 // see poller.place; only of the root
	names   snapshot
	stirred bool // names may have come and gone since a look last went well
}

// add has the directory at path, which is open as f, looked at. What is changed in it later will be told of.
func (p *poller) add(path, abs string, f folder) error {
	if p.holds(path) {
		return nil
	}
	d := &polled{path: path, abs: abs, id: f.id()}
	d.place = p.place(d)
	racy, err := d.fill(f)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirs[path] = d
	if racy {
		p.recent.note(d)
	}
	p.asked = true // what is new is about to change
	p.rouse()
	return nil
}

// remove ends it. A look that is under way may still tell.
func (p *poller) remove(path string) {
	p.mu.Lock()
	d := p.dirs[path]
	p.mu.Unlock()
	if d != nil {
		p.drop(d)
	}
}

func (p *poller) drop(d *polled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.removed.Store(true)
	delete(p.recent.at, d)
	if p.dirs[d.path] == d { // and not another one that came after it
		delete(p.dirs, d.path)
	}
}

// retire ends it after one more look that begins from now on.
func (p *poller) retire(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.dirs[path]; d != nil {
		d.last.Store(true)
		p.asked = true
		p.rouse()
	}
}

func (p *poller) holds(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.dirs[path]
	return d != nil && !d.last.Load()
}

func (p *poller) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.dirs)
}

// list names the directories that are looked at, by absolute path.
func (p *poller) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	dirs := make([]string, 0, len(p.dirs))
	for _, d := range p.dirs {
		dirs = append(dirs, d.abs)
	}
	return dirs
}

func (p *poller) all() []*polled {
	p.mu.Lock()
	defer p.mu.Unlock()
	dirs := make([]*polled, 0, len(p.dirs))
	for _, d := range p.dirs {
		dirs = append(dirs, d)
	}
	return dirs
}

// ask has the next pass come soon, as somebody wants to know.
func (p *poller) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	p.rouse()
}

func (p *poller) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// fail logs one line for each reason that keeps directories from being looked at, until a pass meets none.
func (p *poller) fail(d *polled, err error) {
	if gone(err) || errors.Is(err, fs.ErrPermission) { // others tell of that
		return
	}
	c := condition(err)
	p.mu.Lock()
	p.failed = true
	said := p.trouble[c]
	p.trouble[c] = true
	p.mu.Unlock()
	if !said { // without the lock: the voice asks how much is polled
		p.voice.begins(lookFails, withCure(err), "first", d.abs)
	}
}

// passed ends the conditions that a whole pass did not meet.
func (p *poller) passed() {
	p.mu.Lock()
	over := !p.failed && len(p.trouble) > 0
	if over {
		clear(p.trouble)
	}
	p.failed = false
	p.mu.Unlock()
	if over {
		p.voice.ends(lookWorks)
	}
}
