package resources

import (
	"slices"
	"strings"
	"sync/atomic"
)

// dir is a visible directory of the index. Root.mu guards files, dirs, in, loaded and unseen once the dir is reachable; they are
// replaced, never edited, by the holder of Root.writer, who may therefore read them without Root.mu.
type dir struct {
	name   string
	parent *dir    // nil for the root
	files  []*file // by name: regular files, and links that are served
	dirs   []*dir  // by name
	in     *scope  // the ignore files in force for its entries
	loaded bool    // its entries are known
	unseen bool    // it could not be listed: it counts as empty, and whatever shows when it can be was there before

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

// path returns the path of d below the root, "" for the root itself.
func (d *dir) path() string {
	if d.parent == nil {
		return ""
	}
	return join(d.parent.path(), d.name)
}

// knowsRules reports whether in holds the ignore files of d itself.
func (d *dir) knowsRules() bool { return d.loaded && (d.in == nil || !d.in.unsure) }

func findFile(files []*file, name string) (int, bool) {
	return slices.BinarySearchFunc(files, name, func(f *file, name string) int { return strings.Compare(f.name, name) })
}

func findDir(dirs []*dir, name string) (int, bool) {
	return slices.BinarySearchFunc(dirs, name, func(d *dir, name string) int { return strings.Compare(d.name, name) })
}

func (d *dir) file(name string) *file {
	if i, ok := findFile(d.files, name); ok {
		return d.files[i]
	}
	return nil
}

func (d *dir) dir(name string) *dir {
	if i, ok := findDir(d.dirs, name); ok {
		return d.dirs[i]
	}
	return nil
}

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

// merge applies changes to a sorted list in one pass, so that a batch costs a large directory one copy and not one for
// each name. The old list is left as it is: readers may hold it.
func merge[E any](old []*E, changes map[string]*E, nameOf func(*E) string) []*E {
	if len(changes) == 0 {
		return old
	}
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([]*E, 0, len(old)+len(names))
	for _, name := range names {
		i, found := slices.BinarySearchFunc(old, name, func(e *E, name string) int { return strings.Compare(nameOf(e), name) })
		out = append(out, old[:i]...)
		if found {
			i++
		}
		old = old[i:]
		if e := changes[name]; e != nil {
			out = append(out, e)
		}
	}
	return append(out, old...)
}

func fileName(f *file) string { return f.name }
func dirName(d *dir) string   { return d.name }
