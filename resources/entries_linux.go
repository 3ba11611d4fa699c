package resources

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// entriesIn lists the first n entries of an open directory, or all for n < 0. Of what [os.File.ReadDir] keeps of an entry
// nearly all would be garbage.
func entriesIn(dir *os.File, n int) (list []entry, err error) {
	if n >= 0 {
		return entriesSlowly(dir, n)
	}
	buf := direntBuffers.Get().(*direntBuffer)
	defer direntBuffers.Put(buf)
	for {
		n, err := unix.ReadDirent(int(dir.Fd()), buf[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "readdirent", Path: dir.Name(), Err: err}
		case n == 0:
			return list, nil
		}
		if list, err = appendEntries(list, dir, buf[:n]); err != nil {
			return nil, err
		}
	}
}

type direntBuffer [32 << 10]byte

var direntBuffers = sync.Pool{New: func() any { return new(direntBuffer) }}

// appendEntries reads what getdents64 wrote.
func appendEntries(list []entry, dir *os.File, raw []byte) ([]entry, error) {
	const (
		inoAt  = unsafe.Offsetof(unix.Dirent{}.Ino)
		lenAt  = unsafe.Offsetof(unix.Dirent{}.Reclen)
		typeAt = unsafe.Offsetof(unix.Dirent{}.Type)
		nameAt = unsafe.Offsetof(unix.Dirent{}.Name)
	)
	list = slices.Grow(list, len(raw)/32) // a record of 32 bytes has a name of 5 to 12, and most have more
	for len(raw) > 0 {
		size := binary.NativeEndian.Uint16(raw[lenAt:])
		this := raw[:size]
		raw = raw[size:]
		name, _, _ := bytes.Cut(this[nameAt:], []byte{0})
		if string(name) == "." || string(name) == ".." || binary.NativeEndian.Uint64(this[inoAt:]) == 0 { // 0: deleted
			continue
		}
		e := entry{name: string(name)}
		switch this[typeAt] {
		case unix.DT_REG:
			e.kind = regular
		case unix.DT_DIR:
			e.kind = directory
		case unix.DT_LNK:
			e.kind = symlink
		case unix.DT_UNKNOWN: // a file system that does not say it here
			fi, err := lstatIn(dir, e.name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			e.kind = kindOf(fi.Mode())
		}
		list = append(list, e)
	}
	return list, nil
}
