package watcher

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// factsAt looks at a name in an open directory, or with "" at the directory.
func factsAt(f *os.File, name string, at age) (facts, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH
	if at == fresh {
		flags |= unix.AT_STATX_FORCE_SYNC
	}
	is, err := statx(int(f.Fd()), name, flags)
	if unknown(err) {
		return oldFactsAt(f, name)
	}
	return is, err
}

// factsOf looks at a directory by its path, as it is now.
func factsOf(path string, follow bool) (facts, error) {
	flags := unix.AT_STATX_FORCE_SYNC
	if !follow {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	is, err := statx(unix.AT_FDCWD, path, flags)
	if unknown(err) {
		return oldFactsOf(path, follow)
	}
	return is, err
}

// unknown reports whether the call is one that the kernel, or a sandbox, does not know of.
func unknown(err error) bool { return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) }

func statx(dir int, name string, flags int) (facts, error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS, &st); err != nil {
		return facts{}, err
	}
	return facts{
		kind:   kindOf(uint32(st.Mode)),
		device: unix.Mkdev(st.Dev_major, st.Dev_minor),
		inode:  st.Ino,
		mode:   uint32(st.Mode),
		links:  uint64(st.Nlink),
		owner:  uint64(st.Uid)<<32 | uint64(st.Gid),
		size:   int64(st.Size),
		mtime:  st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec),
		ctime:  st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec),
	}, nil
}

// clockTick is 4 ms on most systems.
func clockTick() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_REALTIME_COARSE, &ts); err != nil {
		return slowestTick
	}
	return time.Duration(ts.Nano())
}
