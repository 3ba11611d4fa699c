package resources

import (
	"io/fs"
	"syscall"
)

func (s *stat) fill(fi fs.FileInfo, who *reader) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	s.dev, s.ino, s.nlink = uint64(st.Dev), st.Ino, uint32(st.Nlink)
	s.ctime, s.ctimeNano = st.Ctimespec.Sec, int32(st.Ctimespec.Nsec)
	s.readable = who.reads(s.mode, st.Uid, st.Gid)
}
