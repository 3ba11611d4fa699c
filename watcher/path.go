package watcher

import (
	"path/filepath"
	"strings"
)

// root converts between absolute paths, as the operating system and the source spell them, and relative ones.
type root struct {
	dir    string // clean and absolute
	prefix string // dir and a separator
}

func newRoot(dir string) root {
	dir = filepath.Clean(dir)
	prefix := dir
	if !strings.HasSuffix(prefix, string(filepath.Separator)) {
		prefix += string(filepath.Separator)
	}
	return root{dir, prefix}
}

// top is where the file system begins, on the volume of the root.
func (r root) top() string { return filepath.VolumeName(r.dir) + string(filepath.Separator) }

func (r root) abs(path string) string {
	if path == "" {
		return r.dir
	}
	return r.prefix + filepath.FromSlash(path)
}

// rel shares abs's memory where separators are slashes; ok is false outside the root.
func (r root) rel(abs string) (path string, ok bool) {
	if abs == r.dir {
		return "", true
	}
	path, ok = strings.CutPrefix(abs, r.prefix)
	// A source that joins names to the root "/" yields "//name".
	return filepath.ToSlash(strings.TrimLeft(path, string(filepath.Separator))), ok
}

// parent is the directory of path, which must not be the root.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 0)]
}

// join is the path of name in dir, or of dir for "".
func join(dir, name string) string {
	if dir == "" || name == "" {
		return dir + name
	}
	return dir + "/" + name
}

func below(path, dir string) bool {
	return path != dir && (dir == "" || strings.HasPrefix(path, dir) && path[len(dir)] == '/')
}
