package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tree is a directory with many empty files.
type tree struct {
	files, perDir int
	flat          bool // it is meant as one directory, whatever others of its size look like
}

// filesPerDir is how many files each directory of a tree has.
const filesPerDir = 1000

// directories are the trees that are grown, and the one directory without others.
func (s scale) directories() []tree {
	var all []tree
	for _, n := range s.trees {
		all = append(all, tree{files: n, perDir: filesPerDir})
	}
	return append(all, tree{files: s.flat, perDir: s.flat, flat: true})
}

func (t tree) String() string {
	if t.flat {
		return counted(t.files, "file") + " in one directory"
	}
	return counted(t.files, "file")
}

// name is that of file i, below the directory. Directories lie in others, 40 in each.
func (t tree) name(i int) string {
	d := i / t.perDir
	return fmt.Sprintf("part-%02d/section-%02d/document-%07d.md", d/40, d%40, i)
}

// grown returns the directory of a tree, which is made for the first who asks.
func (b *bench) grown(ctx context.Context, t tree) (string, error) {
	dir := filepath.Join(b.scratch, fmt.Sprintf("tree-%d-%d", t.files, t.perDir))
	if exists(dir) {
		return dir, nil
	}
	if err := room(b.scratch, t.files); err != nil {
		return "", err
	}
	part := dir + ".part" // until it is complete
	if err := t.grow(ctx, part); err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	return dir, os.Rename(part, dir)
}

func (t tree) grow(ctx context.Context, dir string) error {
	for i := range t.files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		path := filepath.Join(dir, t.name(i))
		if i%t.perDir == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// room reports whether a file system may hold so many empty files more, and leave some room to others.
func room(dir string, files int) error {
	const (
		perFile = 1 << 10 // bytes, of the inode and the name
		spare   = 256 << 20
	)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("room for %d files: %w", files, err)
	}
	if free, need := int64(fs.Bavail)*fs.Bsize, int64(files)*perFile+spare; free < need {
		return fmt.Errorf("%d files need %d MB of room in %s, which has %d MB", files, need/1e6, dir, free/1e6)
	}
	if fs.Files > 0 && fs.Ffree < uint64(files)*2 { // some file systems count none
		return fmt.Errorf("%d files are too many for %s, which can have %d more", files, dir, fs.Ffree)
	}
	return nil
}
