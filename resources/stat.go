package resources

import (
	"io/fs"
	"sync/atomic"
	"time"
)

// stat is what was seen of a file at one moment. Immutable but for the type, which depends on the content and is found
// when it is first asked for.
type stat struct {
	size                 int64 // bytes
	mtime, ctime         int64 // seconds
	dev, ino             uint64
	mtimeNano, ctimeNano int32
	mode                 uint32 // permission bits
	nlink                uint32
	readable             bool // by this process, as far as the permission bits tell
	link                 bool // of the file that a link resolves to

	sniffed atomic.Uint32 // 1 + index into sniffable, 0: not looked at
}

func newStat(fi fs.FileInfo, who *reader) *stat {
	t := fi.ModTime()
	s := &stat{size: fi.Size(), mtime: t.Unix(), mtimeNano: int32(t.Nanosecond()), mode: uint32(fi.Mode().Perm()), readable: true}
	s.fill(fi, who)
	return s
}

func (s *stat) modTime() time.Time { return time.Unix(s.mtime, int64(s.mtimeNano)).UTC() }

// sameFile: the same inode, as far as the system tells.
func (s *stat) sameFile(o *stat) bool { return s.dev == o.dev && s.ino == o.ino }

// sameContent: nothing that tells of another content differs. The change time is no such thing: chmod sets it too.
func (s *stat) sameContent(o *stat) bool {
	return s.sameFile(o) && s.size == o.size && s.mtime == o.mtime && s.mtimeNano == o.mtimeNano
}

// unchanged: whoever reads the file gets what they got before.
func (s *stat) unchanged(o *stat) bool { return s.sameContent(o) && s.readable == o.readable }

// untouched is the strictest comparison, for when notifications may have been lost. A change time that a chmod or a hard
// link explains is excused.
func (s *stat) untouched(o *stat) bool {
	return s.unchanged(o) &&
		(s.ctime == o.ctime && s.ctimeNano == o.ctimeNano || s.mode != o.mode || s.nlink != o.nlink)
}

// reader is whom the permission bits are judged for.
type reader struct {
	uid    int
	groups map[uint32]bool
}
