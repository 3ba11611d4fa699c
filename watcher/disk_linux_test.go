package watcher

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func inodeOf(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

func changeTime(info fs.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Ctim.Nano() }

// kernelWatches counts the inotify watches of this process but for the cookies, of which each instance has one. ok is false where
// the kernel does not tell.
func kernelWatches() (n int, ok bool) {
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil || len(infos) == 0 {
		return 0, false
	}
	for _, name := range infos {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		has := 0
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "inotify wd:") {
				has++
			}
		}
		n += max(has-1, 0)
		_ = f.Close()
	}
	return n, true
}
