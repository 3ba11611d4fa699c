package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// World is where the probe changes what a server serves.
type World interface {
	// Put makes a file, or gives it other contents. The name has no directory in it.
	Put(name, text string) error
	// Clear takes away what Put has made.
	Clear() error
}

// Directory is a World on the disk. It takes away only files that it has made itself.
type Directory struct {
	dir  string
	made []string
}

// OpenDirectory takes a directory for a World.
func OpenDirectory(dir string) (*Directory, error) {
	fi, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	return &Directory{dir: dir}, nil
}

// Put is of World.
func (d *Directory) Put(name, text string) error {
	path := filepath.Join(d.dir, name)
	flags := os.O_WRONLY | os.O_TRUNC
	if !d.has(path) {
		flags |= os.O_CREATE | os.O_EXCL // never another's
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	if !d.has(path) {
		d.made = append(d.made, path)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (d *Directory) has(path string) bool {
	for _, made := range d.made {
		if made == path {
			return true
		}
	}
	return false
}

// Clear is of World.
func (d *Directory) Clear() error {
	var all error
	for _, path := range d.made {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, fmt.Errorf("a file of this program is left behind: %w", err))
		}
	}
	d.made = nil
	return all
}
