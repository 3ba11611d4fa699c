package resources

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// handle is a file that is opened to be looked at or read at once, and closed. It is used by one goroutine. An *os.File asks
// the kernel five times more, whether one can wait for it, which nobody does here.
type handle struct {
	fd   int
	size int64 // bytes, as Stat last found it
}

// openHandle opens a path as os.OpenFile does.
func openHandle(path string, flags int) (*handle, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err == nil {
			return &handle{fd: fd}, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// Stat returns the state of the file, without a name.
func (h *handle) Stat() (fs.FileInfo, error) {
	i := &info{}
	for {
		err := unix.Fstat(h.fd, &i.st)
		if err == nil {
			h.size = i.st.Size
			return i, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, os.NewSyscallError("fstat", err)
		}
	}
}

// ReadAt implements [io.ReaderAt]. Where the file should end it takes less than was asked for as the end, without asking again.
func (h *handle) ReadAt(p []byte, off int64) (read int, err error) {
	const most = 1 << 30 // the kernel takes no more at a time
	for read < len(p) {
		n, err := unix.Pread(h.fd, p[read:min(len(p), read+most)], off+int64(read))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return read, os.NewSyscallError("pread", err)
		case n == 0:
			return read, io.EOF
		default:
			if read += n; read < len(p) && off+int64(read) == h.size {
				return read, io.EOF
			}
		}
	}
	return read, nil
}

// Close lets go of the file. The number is another file's soon: whoever goes on to use the handle gets an error.
func (h *handle) Close() error {
	fd := h.fd
	if fd == closed {
		return os.ErrClosed
	}
	h.fd = closed
	return unix.Close(fd)
}

// closed is a number that no file has.
const closed = -1

// sameFile is os.SameFile, of what handles say as well.
func sameFile(a, b fs.FileInfo) bool {
	x, ok := a.(*info)
	y, both := b.(*info)
	if ok && both {
		return x.st.Dev == y.st.Dev && x.st.Ino == y.st.Ino
	}
	return os.SameFile(a, b)
}
