package resources

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func (s *stat) fill(fi fs.FileInfo, who *reader) {
	switch st := fi.Sys().(type) {
	case *syscall.Stat_t:
		s.dev, s.ino, s.nlink = st.Dev, st.Ino, uint32(st.Nlink)
		s.ctime, s.ctimeNano = int64(st.Ctim.Sec), int32(st.Ctim.Nsec)
		s.readable = who.reads(s.mode, st.Uid, st.Gid)
	case *unix.Stat_t:
		s.dev, s.ino, s.nlink = st.Dev, st.Ino, uint32(st.Nlink)
		s.ctime, s.ctimeNano = int64(st.Ctim.Sec), int32(st.Ctim.Nsec)
		s.readable = who.reads(s.mode, st.Uid, st.Gid)
	}
}
