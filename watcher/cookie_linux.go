package watcher

import (
	"fmt"
	"os"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// cookie is a file in memory that is watched beside the directories. The kernel keeps the events of all in one queue.
type cookie struct {
	*os.File
	path string
}

// newCookie has w watch a file with another path than that of old, which may be nil, and then no longer watch old.
func newCookie(w *fsnotify.Watcher, old *cookie) (*cookie, error) {
	fd, err := unix.MemfdCreate("cookie", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	c := &cookie{os.NewFile(uintptr(fd), "cookie"), fmt.Sprintf("/proc/self/fd/%d", fd)}
	if old != nil {
		_ = w.Remove(old.path) // first, as there may be no watch to spare
	}
	if err := w.Add(c.path); err != nil {
		_ = c.Close() // nothing was written
		return nil, err
	}
	return c, nil
}

// mark changes no mode: that it was set is an event. A write would be none, as since Linux 6.14 descriptors that were not
// opened by path tell of nothing.
func (c *cookie) mark() error { return c.Chmod(0o600) }
