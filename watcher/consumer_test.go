package watcher

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// entry is what a consumer knows of a path. Numbers but the inode's are not kept for directories.
type entry struct {
	kind              byte // 'd', 'f', 'l'
	ino, size         uint64
	modified, changed int64
	content           string
}

func (e entry) sameStat(o entry) bool {
	e.content, o.content = "", ""
	return e == o
}

// viewer is a file system as a consumer sees it, by absolute path.
type viewer interface {
	look(path string) (entry, bool)
	list(path string) []string
}

// consumer keeps a snapshot by the rules of the package comment: it looks where a batch points and nowhere else, reads a
// file again on content evidence or when the stat differs, and has no other knowledge.
type consumer struct {
	root root
	view viewer
	skip func(string) bool

	mu      sync.Mutex // guards what follows
	snap    map[string]entry
	batches []Batch
	reply   Reply       // to be returned once
	fails   func() bool // whether a look fails, if not nil
}

func (c *consumer) emit(b Batch) Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches = append(c.batches, b)
	if c.snap == nil {
		c.snap = map[string]entry{}
	}
	for _, d := range b.Dirty {
		if !c.failed(d.Path) {
			c.dirty(d)
			if d.Evidence&Names != 0 {
				c.names(d.Path)
			}
		}
	}
	for _, dir := range b.Rescan {
		if !c.failed(dir) {
			c.rescan(dir)
		}
	}
	reply := c.reply
	c.reply = Reply{}
	return reply
}

func (c *consumer) failed(path string) bool {
	if c.fails == nil || !c.fails() {
		return false
	}
	c.reply.Retry = append(c.reply.Retry, path)
	return true
}

func (c *consumer) dirty(d Dirty) {
	e, ok := lookAt(c.view, c.root, d.Path)
	if !ok || e.kind != 'd' {
		c.forget(d.Path)
	}
	if !ok {
		delete(c.snap, d.Path)
		return
	}
	if old, known := c.snap[d.Path]; known && old.sameStat(e) && d.Evidence&Content == 0 {
		return
	}
	c.snap[d.Path] = e
}

// names looks at the names in a directory, and at all below those that were not known to be directories.
func (c *consumer) names(dir string) {
	there := map[string]bool{}
	if e, ok := lookAt(c.view, c.root, dir); ok && e.kind == 'd' {
		for _, name := range c.view.list(c.root.abs(dir)) {
			there[join(dir, name)] = true
		}
	}
	for path := range c.snap {
		if path != "" && parent(path) == dir && !there[path] {
			c.dirty(Dirty{Path: path})
		}
	}
	for path := range there {
		if c.snap[path].kind == 'd' {
			c.dirty(Dirty{Path: path})
		} else {
			c.rescan(path)
		}
	}
}

// lookAt refuses a root that is no directory, and paths through links, which the operating system would follow.
func lookAt(v viewer, r root, path string) (entry, bool) {
	for up := path; up != ""; {
		up = parent(up)
		if e, ok := v.look(r.abs(up)); !ok || e.kind != 'd' {
			return entry{}, false
		}
	}
	e, ok := v.look(r.abs(path))
	return e, ok && (path != "" || e.kind == 'd')
}

// forget removes what is below path.
func (c *consumer) forget(path string) {
	for p := range c.snap {
		if below(p, path) {
			delete(c.snap, p)
		}
	}
}

func (c *consumer) rescan(dir string) {
	now := map[string]entry{}
	scan(c.view, c.root, dir, c.skip, now)
	for p := range c.snap {
		if p == dir || below(p, dir) {
			if _, there := now[p]; !there {
				delete(c.snap, p)
			}
		}
	}
	for p, e := range now {
		if old, known := c.snap[p]; !known || !old.sameStat(e) {
			c.snap[p] = e
		}
	}
}

// scan adds what is at and below dir.
func scan(v viewer, r root, dir string, skip func(string) bool, into map[string]entry) {
	e, ok := lookAt(v, r, dir)
	if !ok {
		return
	}
	into[dir] = e
	if e.kind != 'd' || dir != "" && skip != nil && skip(dir) {
		return
	}
	for _, name := range v.list(r.abs(dir)) {
		child := name
		if dir != "" {
			child = dir + "/" + name
		}
		scan(v, r, child, skip, into)
	}
}

// differs says how the snapshot and the watches differ from the disk, "" if they do not.
func (c *consumer) differs(watched []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	disk := map[string]entry{}
	scan(c.view, c.root, "", c.skip, disk)
	var diff []string
	var dirs []string
	for p, e := range disk {
		if got, ok := c.snap[p]; !ok {
			diff = append(diff, fmt.Sprintf("not known: %q %+v", p, e))
		} else if got != e {
			diff = append(diff, fmt.Sprintf("stale: %q is %+v, known as %+v", p, e, got))
		}
		if e.kind == 'd' && (p == "" || c.skip == nil || !c.skip(p)) {
			dirs = append(dirs, p)
		}
	}
	for p := range c.snap {
		if _, ok := disk[p]; !ok {
			diff = append(diff, fmt.Sprintf("not there: %q", p))
		}
	}
	for _, p := range dirs {
		if !slices.Contains(watched, p) {
			diff = append(diff, fmt.Sprintf("not watched: %q", p))
		}
	}
	for _, p := range watched {
		if !slices.Contains(dirs, p) {
			diff = append(diff, fmt.Sprintf("watched: %q", p))
		}
	}
	slices.Sort(diff)
	return strings.Join(diff[:min(len(diff), 12)], "\n")
}
