package watcher

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// identity is what makes a directory the same directory under any name, for as long as it exists: numbers are used again.
type identity struct{ device, inode uint64 }

// stat is what the watcher asks of a path.
type stat struct {
	id       identity // of a directory only
	dir      bool
	modified int64 // of a directory only: when a name in it came or went, in nanoseconds
}

// disk is the file system as the watcher sees it. Paths are absolute. follow is set for the root alone, which may be a link.
type disk interface {
	stat(path string, follow bool) (stat, error)
	facts(path string, follow bool) (facts, error) // of a directory, which need not be accessible
	open(path string, follow bool) (folder, error)
}

// folder is an open directory: what it lists is of one directory even if others take turns at its path.
type folder interface {
	id() identity
	modified() int64                          // before anything was listed
	subdirs(each func(name string)) error     // in no order
	names() ([]string, error)                 // of everything in it, in no order, some perhaps twice
	facts(name string, at age) (facts, error) // with "" of the directory itself
	remoteType() string                       // of its file system, if that can be changed without the kernel's knowledge, else ""
	searchable() bool                         // whether what is in it can be looked at, which takes another permission than to list it
	Close() error
}

// gone reports whether err means that nothing is at the path, or nothing that a path this long can reach.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, syscall.ENAMETOOLONG)
}

type osDisk struct{}

func (osDisk) stat(path string, follow bool) (stat, error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	info, err := look(path)
	if err != nil || !info.IsDir() {
		return stat{}, err
	}
	id, err := identify(path, info)
	return stat{id, true, info.ModTime().UnixNano()}, err
}

func (osDisk) facts(path string, follow bool) (facts, error) { return factsOf(path, follow) }

func (osDisk) open(path string, follow bool) (folder, error) {
	f, err := openFolder(path, follow)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	var id identity
	if err == nil {
		id, err = identifyOpen(f, info)
	}
	if err != nil {
		_ = f.Close() // only read from
		return nil, err
	}
	return &osFolder{f, id, info.ModTime().UnixNano()}, nil
}

type osFolder struct {
	*os.File
	ident identity
	since int64
}

func (f *osFolder) id() identity    { return f.ident }
func (f *osFolder) modified() int64 { return f.since }

// searchable asks by path, as the answer for another directory that took the place is followed by an event.
func (f *osFolder) searchable() bool {
	_, err := os.Lstat(f.Name() + string(filepath.Separator) + ".")
	return !errors.Is(err, fs.ErrPermission)
}

func (f *osFolder) facts(name string, at age) (facts, error) { return factsAt(f.File, name, at) }
func (f *osFolder) remoteType() string                       { return remoteType(f.File) }

func (f *osFolder) names() ([]string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return f.Readdirnames(-1)
}

// subdirs reads in pieces: a directory may have hundreds of thousands of entries, of which only the directories matter.
func (f *osFolder) subdirs(each func(name string)) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			if e.IsDir() {
				each(e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
