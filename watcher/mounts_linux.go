package watcher

import (
	"bytes"
	"io"
	"math"
	"strings"

	"golang.org/x/sys/unix"
)

const mountInfo = "/proc/self/mountinfo"

// procMounts is the mount table of Linux. It is marked with an exceptional condition (POLLPRI) for each descriptor once
// when it has changed.
type procMounts struct{ fd int }

// openMounts returns nil where there is no /proc. The sweep finds what was mounted there too, but later.
func openMounts() mountTable {
	fd, err := unix.Open(mountInfo, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &procMounts{fd}
}

func (p *procMounts) changed() bool {
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0
}

// list takes no other descriptor, of which there may be none.
func (p *procMounts) list() ([]mount, error) {
	b, err := io.ReadAll(io.NewSectionReader(p, 0, math.MaxInt64))
	return parseMounts(b), err
}

func (p *procMounts) ReadAt(b []byte, off int64) (int, error) {
	n, err := unix.Pread(p.fd, b, off)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

func (p *procMounts) close() { _ = unix.Close(p.fd) } // only read from

// parseMounts reads lines like "36 35 98:0 /of/the/disk /mnt/point rw,noatime shared:1 - ext4 /dev/root rw". What comes after
// the mount point is what a remount can change, which concerns no name.
func parseMounts(b []byte) (all []mount) {
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 5 {
			continue
		}
		all = append(all, mount{unescape(string(f[4])), string(bytes.Join(f[:4], []byte(" ")))})
	}
	return all
}

// unescape undoes what the kernel does to a space, a tab, a line feed and a backslash: "\040" for the first.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
