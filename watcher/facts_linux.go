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
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), name, flags, unix.STATX_BASIC_STATS, &st)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // some sandboxes do not know of the call
		return oldFactsAt(f, name)
	}
	if err != nil {
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
