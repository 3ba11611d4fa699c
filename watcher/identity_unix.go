//go:build unix

package watcher

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFolder cannot be made to wait by a FIFO, nor to leave the tree by a link, that took the directory's place.
func openFolder(path string, follow bool) (*os.File, error) {
	flags := os.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	return os.OpenFile(path, flags, 0)
}

func identify(_ string, info fs.FileInfo) (identity, error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		panic("watcher: the operating system's file information is not a Stat_t")
	}
	return identity{device: uint64(st.Dev), inode: st.Ino}, nil
}

func identifyOpen(_ *os.File, info fs.FileInfo) (identity, error) { return identify("", info) }
