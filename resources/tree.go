package resources

import (
	"strings"
	"sync/atomic"
)

// dir is a visible directory of the index. Root.mu guards files, dirs, in and loaded once the dir is reachable; they are
// replaced, never edited, by the holder of Root.writer, who may therefore read them without Root.mu.
type dir struct {
	name   string
	parent *dir        // nil for the root
	files  roll[*file] // regular files, and links that are served
	dirs   roll[*dir]
	in     *scope // the ignore files in force for its entries
	loaded bool   // its entries are known

	// For the holder of Root.writer only:
	links  map[string]*link // by name: the visible links, served or not
	gone   bool             // no longer part of the tree
	closed bool             // could not be listed when last tried
}

// file is a served file. The same file value stays in the index as long as the name is served without a gap.
type file struct {
	name string
	stat atomic.Pointer[stat] // nil: never taken; readers set it only where it is nil
	gone atomic.Bool          // no longer served
}

// item is a file and the path of the directory that it is in.
type item struct {
	dir  string
	file *file
}

// path returns the path of d below the root, "" for the root itself.
func (d *dir) path() string {
	if d.parent == nil {
		return ""
	}
	return join(d.parent.path(), d.name)
}

// unseen reports whether d could not be listed. It counts as empty, its ignore files are not known, and whatever shows when it
// can be listed was there before.
func (d *dir) unseen() bool { return d.loaded && d.in != nil && d.in.unsure }

func (f *file) called() string { return f.name }
func (d *dir) called() string  { return d.name }

func (d *dir) file(name string) *file { return d.files.find(name) }
func (d *dir) dir(name string) *dir   { return d.dirs.find(name) }

// descend follows rel as far as the index knows it: the deepest directory, and what is left of rel below that.
func (d *dir) descend(rel string) (deepest *dir, rest string) {
	for rel != "" {
		seg, after, _ := strings.Cut(rel, "/")
		sub := d.dir(seg)
		if sub == nil {
			break
		}
		d, rel = sub, after
	}
	return d, rel
}

// edit is what one batch does to one directory. A nil entry is a removal.
type edit struct {
	files map[string]*file
	dirs  map[string]*dir
}

func (e *edit) setFile(name string, f *file) {
	if e.files == nil {
		e.files = make(map[string]*file)
	}
	e.files[name] = f
}

func (e *edit) setDir(name string, d *dir) {
	if e.dirs == nil {
		e.dirs = make(map[string]*dir)
	}
	e.dirs[name] = d
}
