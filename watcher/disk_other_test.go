//go:build !linux

package watcher

import (
	"io/fs"
	"os"
)

func exchange(a, b string) error {
	if err := os.Rename(a, a+"~"); err != nil {
		return err
	}
	if err := os.Rename(b, a); err != nil {
		return os.Rename(a+"~", a)
	}
	return os.Rename(a+"~", b)
}

// Identity and change time are compared on Linux only.
func inodeOf(fs.FileInfo) uint64      { return 0 }
func changeTime(fs.FileInfo) int64    { return 0 }
func kernelWatches() (n int, ok bool) { return 0, false }
