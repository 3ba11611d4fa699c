package watcher

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"
)

// diskWorld is the world of the operating system.
type diskWorld struct{ writes atomic.Int64 }

func (*diskWorld) mkdir(path string) error           { return os.Mkdir(path, 0o777) }
func (*diskWorld) remove(path string) error          { return os.Remove(path) }
func (*diskWorld) rename(from, to string) error      { return os.Rename(from, to) }
func (*diskWorld) exchange(a, b string) error        { return exchange(a, b) }
func (*diskWorld) symlink(target, path string) error { return os.Symlink(target, path) }

// write makes each content different and all of one size, so that a reader who misses a write is found out.
func (d *diskWorld) write(path string) error {
	return os.WriteFile(path, fmt.Appendf(nil, "%08d", d.writes.Add(1)), 0o666)
}

func (*diskWorld) chmod(path string, mode modelMode) error {
	perm := fs.FileMode(0o777)
	if mode&noRead != 0 {
		perm &^= 0o444
	}
	if mode&noSearch != 0 {
		perm &^= 0o111
	}
	return os.Chmod(path, perm)
}

func (*diskWorld) accessible(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Perm()&0o555 == 0o555
}

func (*diskWorld) look(path string) (entry, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return entry{}, false
	}
	e := entry{ino: inodeOf(info)}
	switch info.Mode().Type() {
	case fs.ModeDir:
		e.kind = 'd'
		return e, true
	case fs.ModeSymlink:
		e.kind = 'l'
		e.content, err = os.Readlink(path)
	default:
		e.kind = 'f'
		var b []byte
		b, err = os.ReadFile(path)
		e.content = string(b)
	}
	e.size, e.modified, e.changed = uint64(info.Size()), info.ModTime().UnixNano(), changeTime(info)
	return e, err == nil
}

func (*diskWorld) list(path string) (names []string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}
