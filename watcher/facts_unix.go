//go:build unix

package watcher

import (
	"os"

	"golang.org/x/sys/unix"
)

func oldFactsAt(f *os.File, name string) (facts, error) {
	var st unix.Stat_t
	var err error
	if name == "" {
		err = unix.Fstat(int(f.Fd()), &st)
	} else {
		err = unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	return factsIn(&st), err
}

func oldFactsOf(path string, follow bool) (facts, error) {
	look := unix.Lstat
	if follow {
		look = unix.Stat
	}
	var st unix.Stat_t
	err := look(path, &st)
	return factsIn(&st), err
}

func factsIn(st *unix.Stat_t) facts {
	return facts{
		kind:   kindOf(uint32(st.Mode)),
		device: uint64(st.Dev),
		inode:  st.Ino,
		mode:   uint32(st.Mode),
		links:  uint64(st.Nlink),
		owner:  uint64(st.Uid)<<32 | uint64(st.Gid),
		size:   st.Size,
		mtime:  st.Mtim.Nano(),
		ctime:  st.Ctim.Nano(),
	}
}

func kindOf(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return file
	case unix.S_IFDIR:
		return directory
	case unix.S_IFLNK:
		return link
	}
	return other
}
