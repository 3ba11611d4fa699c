package storm

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// What follows says what is served as the rules are told to people: name by name, by the disk alone.

// entry is a file that is served.
type entry struct {
	ino, nlink uint64
	size       int64
	mtime      int64 // nanoseconds
	ctime      int64
	content    string
	readable   bool
}

// same: whoever reads it need not look again.
func (e entry) same(o entry) bool {
	return e.ino == o.ino && e.size == o.size && e.mtime == o.mtime && e.content == o.content && e.readable == o.readable
}

// view is what a disk holds of what is served.
type view struct {
	files    map[string]entry
	dirs     map[string]uint64   // inodes of the visible directories that can be listed
	shut     map[string]bool     // visible directories that cannot
	links    map[string][]string // what each visible link leads through, itself included
	children map[string][]string // of the directories that can be listed, those of directories with a slash
}

func (v *view) list() []string { return slices.Sorted(maps.Keys(v.files)) }

// beneath are the files below the directory dir.
func (v *view) beneath(dir string) map[string]entry {
	out := map[string]entry{}
	for p, e := range v.files {
		if below(p, dir) && p != dir {
			out[p] = e
		}
	}
	return out
}

// below reports whether p is dir or in it.
func below(p, dir string) bool {
	return dir == "" || p == dir || strings.HasPrefix(p, dir+"/")
}

// user is whom the program runs as.
type user struct{ uid, gid uint32 }

func (u user) may(fi fs.FileInfo, bit fs.FileMode) bool {
	st := fi.Sys().(*syscall.Stat_t)
	switch {
	case u.uid == 0:
		return true
	case st.Uid == u.uid:
		return fi.Mode()&(bit<<6) != 0
	case st.Gid == u.gid:
		return fi.Mode()&(bit<<3) != 0
	}
	return fi.Mode()&bit != 0
}

type oracle struct {
	root string
	user user
	view *view
}

// lookAt walks the tree.
func lookAt(root string, u user) (*view, error) {
	o := oracle{root, u, &view{map[string]entry{}, map[string]uint64{}, map[string]bool{}, map[string][]string{}, map[string][]string{}}}
	return o.view, o.walk("", nil)
}

// ignoreFile is one directory's lines.
type ignoreFile struct {
	dir   string
	lines []string
}

func (o *oracle) abs(rel string) string { return filepath.Join(o.root, rel) }

func (o *oracle) walk(dir string, above []ignoreFile) error {
	fi, err := os.Lstat(o.abs(dir))
	if err != nil {
		return err
	}
	if !o.user.may(fi, 4) || !o.user.may(fi, 1) {
		o.view.shut[dir] = true
		return nil
	}
	o.view.dirs[dir] = fi.Sys().(*syscall.Stat_t).Ino
	o.view.children[dir] = []string{}
	entries, err := os.ReadDir(o.abs(dir))
	if err != nil {
		return err
	}
	own := ignoreFile{dir: dir}
	for _, name := range []string{".gitignore", ".mcpignore"} {
		if text, err := os.ReadFile(o.abs(path.Join(dir, name))); err == nil {
			own.lines = append(own.lines, strings.Split(string(text), "\n")...)
		}
	}
	rules := append(slices.Clip(above), own)
	for _, e := range entries {
		rel := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || secret(e.Name()) || ignored(rules, rel, e.IsDir()) {
			continue
		}
		switch {
		case e.IsDir():
			o.view.children[dir] = append(o.view.children[dir], e.Name()+"/")
			err = o.walk(rel, rules)
		case e.Type()&fs.ModeSymlink != 0:
			end, through, ok := o.follow(rel)
			if o.view.links[rel] = through; ok {
				err = o.file(rel, end)
			}
		case e.Type().IsRegular():
			err = o.file(rel, rel)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *oracle) file(rel, at string) error {
	fi, err := os.Lstat(o.abs(at))
	if err != nil || !fi.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(o.abs(at))
	if err != nil && o.user.uid == 0 {
		return err
	}
	st := fi.Sys().(*syscall.Stat_t)
	o.view.files[rel] = entry{st.Ino, uint64(st.Nlink), fi.Size(), fi.ModTime().UnixNano(),
		st.Ctim.Nano(), string(text), o.user.may(fi, 4)}
	dir := path.Dir(rel)
	if dir == "." {
		dir = ""
	}
	o.view.children[dir] = append(o.view.children[dir], path.Base(rel))
	return nil
}

// follow returns where the link at rel leads inside the root, and all that it leads through.
func (o *oracle) follow(rel string) (end string, through []string, ok bool) {
	at := strings.Split(path.Dir(rel), "/")
	if at[0] == "." {
		at = nil
	}
	todo := []string{path.Base(rel)}
	for links := 0; len(todo) > 0; {
		seg := todo[0]
		todo = todo[1:]
		switch seg {
		case ".", "":
			continue
		case "..":
			if len(at) == 0 {
				return "", through, false
			}
			at = at[:len(at)-1]
			continue
		}
		p := path.Join(append(slices.Clone(at), seg)...)
		through = append(through, p)
		fi, err := os.Lstat(o.abs(p))
		switch {
		case err != nil:
			return "", through, false
		case fi.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(o.abs(p))
			if links++; err != nil || links > 40 || strings.HasPrefix(to, "/") {
				return "", through, false
			}
			todo = append(strings.Split(to, "/"), todo...)
		case fi.IsDir():
			if !o.user.may(fi, 1) || !o.user.may(fi, 4) {
				return "", through, false
			}
			at = append(slices.Clone(at), seg)
		case len(todo) > 0 || !fi.Mode().IsRegular():
			return "", through, false
		default:
			return p, through, !slices.ContainsFunc(strings.Split(p, "/"), secret)
		}
	}
	return "", through, false
}

func secret(name string) bool { return strings.HasSuffix(name, ".pem") }

// ignored reports whether the ignore files hide rel, in a directory that they show. The last line that speaks of it decides,
// and a deeper file over an outer one.
func ignored(rules []ignoreFile, rel string, isDir bool) bool {
	for _, file := range slices.Backward(rules) {
		for _, line := range slices.Backward(file.lines) {
			if ok, negated := speaks(file.dir, line, rel, isDir); ok {
				return !negated
			}
		}
	}
	return false
}

// speaks knows the kinds of lines that the writers use.
func speaks(dir, line, rel string, isDir bool) (ok, negated bool) {
	line = strings.TrimSuffix(line, "\r")
	if line == "" || strings.HasPrefix(line, "#") {
		return false, false
	}
	line, negated = strings.CutPrefix(line, "!")
	line, dirOnly := strings.CutSuffix(line, "/")
	if dirOnly && !isDir {
		return false, false
	}
	if suffix, open := strings.CutPrefix(line, "*"); open {
		return strings.HasSuffix(rel, suffix), negated
	}
	if !strings.Contains(line, "/") {
		return path.Base(rel) == line, negated
	}
	return rel == path.Join(dir, strings.TrimPrefix(line, "/")), negated
}
