package resources

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lookOnly opens a name for its state alone; a link is then the link itself.
const lookOnly = unix.O_PATH | unix.O_NOFOLLOW

// openPlain opens an absolute path that must not lead through a link.
func openPlain(path string, flags int) (*os.File, error) {
	fd, err := openat2(unix.AT_FDCWD, path, flags, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openWhole is openPlain for what is only looked at or read at once.
func openWhole(path string, flags int) (*handle, error) {
	fd, err := openat2(unix.AT_FDCWD, path, flags, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	return &handle{fd: fd}, nil
}

// openIn opens a path below an open directory that must not lead through a link, nor out of it.
func openIn(dir *handle, path string, flags int) (*handle, error) {
	fd, err := openat2(dir.fd, path, flags, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH)
	if err != nil {
		return nil, err
	}
	return &handle{fd: fd}, nil
}

func openat2(dir int, path string, flags int, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	for {
		fd, err := unix.Openat2(dir, path, &how)
		if err == nil {
			return fd, nil
		}
		if !errors.Is(err, unix.EINTR) { // EAGAIN says that somebody holds a lease, and may do so for long
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// nativeReach reports whether openPlain works: kernels before 5.6 and some sandboxes have no openat2.
func nativeReach() bool {
	f, err := openPlain("/", lookOnly)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// lstatIn is lstat of a name in an open directory.
func lstatIn(dir *os.File, name string) (fs.FileInfo, error) {
	i := &info{name: name}
	for {
		err := unix.Fstatat(int(dir.Fd()), name, &i.st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			return i, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
	}
}

// info is an fs.FileInfo as far as this package asks.
type info struct {
	name string
	st   unix.Stat_t
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.st.Size }
func (i *info) ModTime() time.Time { return time.Unix(i.st.Mtim.Unix()) }
func (i *info) IsDir() bool        { return i.Mode().IsDir() }
func (i *info) Sys() any           { return &i.st }

func (i *info) Mode() fs.FileMode {
	perm := fs.FileMode(i.st.Mode & 0o777)
	switch i.st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return perm
	case unix.S_IFDIR:
		return perm | fs.ModeDir
	case unix.S_IFLNK:
		return perm | fs.ModeSymlink
	}
	return perm | fs.ModeIrregular
}
