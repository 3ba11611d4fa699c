package watcher

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// remoteType names the file system of an open directory, if it is one on which changes may be made elsewhere.
func remoteType(f *os.File) string {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil {
		return ""
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	if st.Flags&unix.MNT_LOCAL == 0 || strings.Contains(name, "fuse") {
		return name
	}
	return ""
}
