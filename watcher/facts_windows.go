package watcher

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// factsAt looks at a name in an open directory, or with "" at the directory.
func factsAt(f *os.File, name string, _ age) (facts, error) {
	return factsOf(filepath.Join(f.Name(), name), false)
}

// factsOf looks at a path, as it is now.
func factsOf(path string, follow bool) (facts, error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	info, err := look(path)
	if err != nil {
		return facts{}, err
	}
	kinds := map[fs.FileMode]kind{0: file, fs.ModeDir: directory, fs.ModeSymlink: link}
	return facts{
		kind:  kinds[info.Mode().Type()],
		mode:  uint32(info.Mode()),
		size:  info.Size(),
		mtime: info.ModTime().UnixNano(),
	}, nil
}

func clockTick() time.Duration { return slowestTick }
