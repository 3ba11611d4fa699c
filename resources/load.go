package resources

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
)

// Load walks the tree for the first time, in the order of the list, so that a page is known long before the end. It
// returns early only when ctx ends. What cannot be listed counts as empty; if the reason is a passing one the next Apply
// sees to it.
func (r *Root) Load(ctx context.Context) error {
	r.writer.Lock()
	defer r.writer.Unlock()
	return r.load(ctx)
}

// load is Load for the holder of writer.
func (r *Root) load(ctx context.Context) error {
	if r.complete {
		return nil
	}
	r.refresh()
	if err := r.fill(ctx, r.tree, ""); err != nil {
		return err
	}
	r.complete = true
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compareEarly()
	r.early = nil
	close(r.loaded)
	return nil
}

func (r *Root) fill(ctx context.Context, d *dir, path string) error {
	runtime.Gosched() // or the first answers wait for a time slice (10 ms) of the walk
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.loaded {
		var names listing
		names.entries, names.in, names.err = r.scan(path, d.in)
		r.learn(d, path, names)
	}
	for sub := range d.dirs.all() {
		if err := r.fill(ctx, sub, join(path, sub.name)); err != nil {
			return err
		}
	}
	return nil
}

type listing struct {
	entries []entry
	in      *scope
	err     error
}

// learn puts the entries of d into the index.
func (r *Root) learn(d *dir, path string, l listing) {
	switch {
	case l.err == nil:
	case passing(l.err):
		r.postponeLoad(path, l.err)
	default:
		r.miss(path, l.err)
		d.closed = errors.Is(l.err, fs.ErrPermission)
		r.log.Debug("a directory cannot be listed", "dir", path, "reason", reason(l.err))
	}
	pack(l.entries)
	files, fileMemory := make([]*file, 0, count(l.entries, regular)), make([]file, count(l.entries, regular))
	dirs, dirMemory := make([]*dir, 0, count(l.entries, directory)), make([]dir, count(l.entries, directory))
	for _, e := range l.entries {
		switch e.kind {
		case regular:
			f := &fileMemory[0]
			f.name, fileMemory = e.name, fileMemory[1:]
			files = append(files, f)
		case directory:
			sub := &dirMemory[0]
			sub.name, sub.parent, sub.in, dirMemory = e.name, d, l.in, dirMemory[1:]
			dirs = append(dirs, sub)
		case symlink:
			f, err := r.addLink(d, join(path, e.name), e.name)
			if err != nil {
				r.postponeLoad(join(path, e.name), err)
			}
			if f != nil {
				files = append(files, f)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.early) > 0 {
		for _, f := range files {
			if s := r.early[join(path, f.name)]; s.isFile() {
				f.stat.CompareAndSwap(nil, s)
			}
		}
	}
	if r.learnt(path, l.in) {
		r.owed.rewalk = append(r.owed.rewalk, path)
	}
	d.files, d.dirs, d.in, d.loaded = rollOf(files), rollOf(dirs), l.in, true
	if r.waiting.Load() > 0 {
		close(r.progress)
		r.progress = make(chan struct{})
	}
}

func (r *Root) postponeLoad(rel string, err error) {
	r.miss(rel, err)
	r.postpone(rel, &hint{}, err)
	r.owed.retry = append(r.owed.retry, rel)
}

// pack puts the names into one piece of memory: each by itself would take up to half as much again.
func pack(list []entry) {
	size := 0
	for _, e := range list {
		size += len(e.name)
	}
	var text strings.Builder
	text.Grow(size)
	for i := range list {
		at := text.Len()
		text.WriteString(list[i].name)
		list[i].name = text.String()[at:]
	}
}

func count(list []entry, k kind) (n int) {
	for _, e := range list {
		if e.kind == k {
			n++
		}
	}
	return n
}
