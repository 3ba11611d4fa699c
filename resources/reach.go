package resources

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// reach opens paths below a root without following a link on the way, so that a directory which somebody swaps for a
// link is not looked into, wherever that link leads.
type reach struct {
	real   atomic.Pointer[string] // the root's path without links, as last found
	native bool                   // the system refuses links by itself
}

func (r *Root) refresh() string {
	real, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		real = r.dir
	}
	r.reach.real.Store(&real)
	return real
}

// open opens rel with no link in any segment, but for the last one where flags allow that.
func (r *Root) open(rel string, flags int) (*os.File, error) {
	if rel == "" {
		return os.OpenFile(r.dir, flags, 0)
	}
	if !r.reach.native {
		return r.openSlowly(rel, flags)
	}
	real := *r.reach.real.Load()
	f, err := openPlain(below(real, rel), flags)
	if errors.Is(err, syscall.ELOOP) || real != r.dir && errors.Is(err, fs.ErrNotExist) {
		if now := r.refresh(); now != real { // the links above the root lead elsewhere now
			f, err = openPlain(below(now, rel), flags)
		}
	}
	return f, err
}

// openSlowly looks at each directory on the way after the last one was opened.
func (r *Root) openSlowly(rel string, flags int) (*os.File, error) {
	f, err := os.OpenFile(r.host(rel), flags, 0)
	if err != nil {
		return nil, err
	}
	if err := r.plainWay(rel); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// plainWay returns an error unless all above rel are directories, and none a link.
func (r *Root) plainWay(rel string) error {
	for dir, _ := split(rel); dir != ""; dir, _ = split(dir) {
		fi, err := os.Lstat(r.host(dir))
		if err != nil {
			return err
		}
		if !fi.IsDir() {
			return &fs.PathError{Op: "open", Path: rel, Err: syscall.ENOTDIR}
		}
	}
	return nil
}

// info is os.Lstat with no link in any segment but the last.
func (r *Root) info(rel string) (fs.FileInfo, error) {
	dir, name := split(rel)
	if dir == "" {
		return os.Lstat(r.host(rel))
	}
	if r.reach.native {
		f, err := r.open(rel, lookOnly)
		switch {
		case err == nil:
			defer f.Close()
			return f.Stat()
		case errors.Is(err, syscall.ENAMETOOLONG): // but its directory can be listed, so it is served
			in, err := r.open(dir, lookOnly|onlyDir)
			if err != nil {
				return nil, err
			}
			defer in.Close()
			return lstatIn(in, name)
		case !noDescriptors(err):
			return nil, err
		}
	}
	fi, err := os.Lstat(r.host(rel))
	if err == nil {
		err = r.plainWay(rel)
	}
	return fi, err
}
