package resources

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

// errAbsent means that nothing is served at a path, whatever the cause.
var errAbsent = errors.New("absent")

// What is told of a link in an explanation. To a client it is absent.
var (
	errOutside   = errors.New("a link out of the root")
	errLoop      = errors.New("a link to itself")
	errOffLimits = errors.New("a link to what is hidden")
)

// errMoved means that what was opened is not what was looked at: something took its place in between, as when a file is saved
// by renaming another one over it. Another look finds it.
var errMoved = errors.New("replaced all the time, ask again")

// looks is how often something is looked at that moves each time.
const looks = 16

// disk is the directory of a root. It is opened anew for each use, which costs as much as to find out whether one held open is
// still what the path names. One held open would keep the file system from being unmounted, as would any other directory.
type disk struct {
	path   string
	closed atomic.Bool
}

// open returns the directory that the path names now.
func (d *disk) open() (*os.Root, error) {
	if d.closed.Load() {
		return nil, errAbsent
	}
	return os.OpenRoot(d.path + itself)
}

// look opens it, for those who have openIn.
func (d *disk) look() (*handle, error) {
	if d.closed.Load() {
		return nil, errAbsent
	}
	return openHandle(d.path+itself, lookOnly|onlyDir)
}

// itself is what a directory alone has. A FIFO that took its place is not opened then, which would wait for a writer.
const itself = string(filepath.Separator) + "."

func (d *disk) close() { d.closed.Store(true) }

// spot is a name in an open directory: where a path leads once the link in its last segment is followed.
type spot struct {
	whole  string  // its path on this machine, if no link is on the way, also not to the root; instead of the next three
	direct *handle // the root's, for openIn, if no link is on the way from there; instead of the next two

	top   *os.Root // the root's
	in    *os.Root // the directory that holds the name, top or one of its own
	dirs  []string // path of in
	name  string
	info  fs.FileInfo // of the name; never a link
	links int         // followed so far

	through []string // the paths looked at since the first link, where the last one is where it ended
}

// path is where the spot really is, below the root.
func (s *spot) path() string { return strings.Join(append(slices.Clip(s.dirs), s.name), "/") }

func (s *spot) close() {
	if s.direct != nil {
		s.direct.Close()
		return
	}
	s.ascend()
	if s.top != nil { // it is nil if there is no root
		s.top.Close()
	}
}

// ascend goes to the root.
func (s *spot) ascend() {
	if s.in != s.top {
		s.in.Close()
	}
	s.in, s.dirs = s.top, nil
}

// locate finds what rel names. Only its last segment may be a link, which is followed within the root; a credential is not
// reached through it. The caller closes the spot.
func (r *Root) locate(rel string) (*spot, error) {
	if s := r.straight(rel); s != nil {
		return s, nil
	}
	s, err := r.attempt(rel)
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// straight is attempt for nearly all that is served, in a few system calls however deep it is. It returns nil for what has a link
// in it, is not there, or cannot be had in this way.
func (r *Root) straight(rel string) *spot {
	segments := strings.Split(rel, "/")
	if !r.reach.native || r.disk.closed.Load() || slices.ContainsFunc(segments, func(seg string) bool { return seg == "" || seg == "." || seg == ".." }) {
		return nil
	}
	s := &spot{dirs: segments[:len(segments)-1], name: segments[len(segments)-1]}
	var err error
	if *r.reach.real.Load() == r.dir { // or was, and then nothing is found here
		s.whole = r.host(rel)
	} else if s.direct, err = r.disk.look(); err != nil {
		return nil
	}
	if s.info, err = s.look(); err != nil || kindOf(s.info.Mode()) == symlink {
		s.close()
		return nil
	}
	return s
}

func (s *spot) look() (fs.FileInfo, error) {
	f, err := s.reopen(lookOnly)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// reopen opens what was found straight.
func (s *spot) reopen(flags int) (*handle, error) {
	if s.whole != "" {
		return openWhole(s.whole, flags)
	}
	return openIn(s.direct, s.path(), flags)
}

// attempt goes from directory to directory, and follows a link. It returns the spot also with an error, for how far it came.
func (r *Root) attempt(rel string) (*spot, error) {
	s, err := r.attemptOnce(rel)
	for n := 1; n < looks && errors.Is(err, errMoved); n++ {
		s.close()
		s, err = r.attemptOnce(rel)
	}
	return s, err
}

func (r *Root) attemptOnce(rel string) (*spot, error) {
	top, err := r.disk.open()
	if err != nil {
		return &spot{}, err
	}
	s := &spot{top: top, in: top}
	if err := s.follow(strings.Split(rel, "/")); err != nil {
		return s, err
	}
	if s.links > 0 && r.offLimits(s.path()) {
		return s, errOffLimits
	}
	return s, nil
}

// follow walks the segments from s on. Each directory is compared after it was opened with what was looked at before,
// because os.Root would follow a link that took its place.
func (s *spot) follow(segments []string) error {
	for len(segments) > 0 {
		seg := segments[0]
		segments = segments[1:]
		if seg == "" || seg == "." || seg == ".." {
			if s.links == 0 { // only what a link says may be written like that
				return errAbsent
			}
			if seg == ".." {
				if err := s.leave(); err != nil {
					return err
				}
			}
			continue
		}
		if s.links > 0 {
			s.pass(seg)
		}
		info, err := s.in.Lstat(seg)
		if err != nil {
			return err
		}
		switch k := kindOf(info.Mode()); {
		case k == symlink:
			if s.links == 0 && len(segments) > 0 {
				return errAbsent
			}
			target, err := s.target(seg)
			if err != nil {
				return err
			}
			segments = append(target, segments...)
		case len(segments) == 0:
			s.name, s.info = seg, info
			return nil
		case k == directory:
			if err := s.enter(seg, info); err != nil {
				return err
			}
		default:
			return errAbsent
		}
	}
	return errAbsent // a link to a directory that ends in a slash, a dot or two
}

// target returns the segments of what a link in the directory says, and counts it.
func (s *spot) target(link string) ([]string, error) {
	const most = 40 // links, as the kernel allows
	if s.links++; s.links > most {
		return nil, errLoop
	}
	text, err := s.in.Readlink(link)
	if err != nil {
		return nil, err
	}
	text = filepath.ToSlash(text)
	if strings.HasPrefix(text, "/") || filepath.VolumeName(text) != "" {
		return nil, errOutside
	}
	return strings.Split(text, "/"), nil
}

// pass adds the name in the directory to through, as the last one.
func (s *spot) pass(name string) {
	p := strings.Join(append(slices.Clip(s.dirs), name), "/")
	if i := slices.Index(s.through, p); i >= 0 {
		s.through = slices.Delete(s.through, i, i+1)
	}
	s.through = append(s.through, p)
}

func (s *spot) enter(name string, seen fs.FileInfo) error {
	sub, err := s.in.OpenRoot(name + itself)
	if err != nil {
		return movedIfGone(err)
	}
	now, err := sub.Stat(".")
	if err == nil && !os.SameFile(seen, now) {
		err = errMoved
	}
	if err != nil {
		sub.Close()
		return err
	}
	at := append(s.dirs, name)
	s.ascend()
	s.in, s.dirs = sub, at
	return nil
}

// leave goes to the parent, by walking down to it again: only one directory is held open at a time.
func (s *spot) leave() error {
	if len(s.dirs) == 0 {
		return errOutside
	}
	down := s.dirs[:len(s.dirs)-1]
	s.ascend()
	for _, name := range down {
		info, err := s.in.Lstat(name)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return errAbsent
		}
		if err := s.enter(name, info); err != nil {
			return err
		}
	}
	return nil
}

// open opens the file, if it is a regular one and still the one that was looked at.
func (s *spot) open() (openContent, fs.FileInfo, error) {
	if !s.info.Mode().IsRegular() {
		return nil, nil, errAbsent
	}
	f, err := s.openName()
	if err != nil {
		return nil, nil, movedIfGone(err)
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !sameFile(s.info, info)) {
		err = errMoved
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (s *spot) openName() (openContent, error) {
	if s.whole != "" || s.direct != nil {
		return s.reopen(os.O_RDONLY | noBlock)
	}
	return s.in.OpenFile(s.name, os.O_RDONLY|noBlock, 0)
}

// openContent is a file that was opened to be read.
type openContent interface {
	content
	io.Closer
}

// movedIfGone turns the error of an open into errMoved if it says that nothing like what was just looked at is there.
func movedIfGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return errMoved
	}
	return err
}
