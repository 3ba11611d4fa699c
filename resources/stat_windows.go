package resources

import (
	"io/fs"
	"syscall"
)

// fill takes the creation time for an inode number: the real one needs an open handle, and a replaced file has another
// creation time.
func (s *stat) fill(fi fs.FileInfo, _ *reader) {
	if d, ok := fi.Sys().(*syscall.Win32FileAttributeData); ok {
		s.ino = uint64(d.CreationTime.HighDateTime)<<32 | uint64(d.CreationTime.LowDateTime)
	}
}
