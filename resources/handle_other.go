//go:build !linux

package resources

import (
	"io/fs"
	"os"
)

// handle is a file that is opened to be looked at or read at once, and closed.
type handle = os.File

func openHandle(path string, flags int) (*handle, error) { return os.OpenFile(path, flags, 0) }

func sameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }
