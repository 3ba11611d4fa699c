package watcher

import (
	"os"

	"golang.org/x/sys/unix"
)

// remoteTypes are file systems that others can change without this kernel's knowledge, by the magic numbers of statfs(2).
var remoteTypes = map[uint32]string{
	0x00006969: "nfs",
	0x0000517b: "smb",
	0xfe534d42: "smb2",
	0xff534d42: "cifs",
	0x65735546: "fuse",
	0x01021997: "9p",
	0x00c36400: "ceph",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x73757245: "coda",
	0x0000564c: "ncp",
	0x01161970: "gfs2",
	0x7461636f: "ocfs2",
	0x0bd00bd0: "lustre",
	0x19830326: "beegfs",
	0x47504653: "gpfs",
	0xaad7aaea: "panfs",
	0x786f4256: "vboxsf",
	0x7c7c6673: "prl_fs",
	0xbacbacbc: "vmhgfs",
}

// remoteType names the file system of an open directory, if it is one on which changes may be made elsewhere.
func remoteType(f *os.File) string {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil {
		return ""
	}
	return remoteTypes[uint32(st.Type)]
}
