package storm

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deed is what is known of an operation that was done.
type deed struct {
	op
	writer     int
	start, end time.Time
	touched    []string // paths below the root that may have come, gone or changed
	said       []string // paths of ignore files that may have other lines
	err        error
}

// journal is what the writers did in one round.
type journal struct {
	mu      sync.Mutex // guards what follows
	deeds   []deed
	written map[uint64]bool // inodes whose content or times were changed
}

// writer does operations in base/in, which is served, and base/out, which is not. It never follows a link that is not the
// last segment of a path, so that an operation touches the paths that it names and no others.
type writer struct {
	base string
	id   int
	log  *journal
	now  *deed
}

func (w *writer) play(ops []op) {
	for _, o := range ops {
		d := deed{op: o, writer: w.id, start: time.Now()}
		w.now = &d
		d.err = w.do(o)
		d.end = time.Now()
		w.log.mu.Lock()
		w.log.deeds = append(w.log.deeds, d)
		w.log.mu.Unlock()
		time.Sleep(o.pause)
	}
}

// spot opens the directory of a path and returns a path of the file in it that stays good whatever becomes of the directory.
func (w *writer) spot(p string) (at string, done func(), err error) {
	dir, err := unix.Openat2(unix.AT_FDCWD, path.Dir(filepath.Join(w.base, p)), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return "", nil, err
	}
	if rel, ok := strings.CutPrefix(p, "in/"); ok {
		w.now.touched = append(w.now.touched, rel)
	}
	return "/proc/self/fd/" + strconv.Itoa(dir) + "/" + path.Base(p), func() { unix.Close(dir) }, nil
}

func (w *writer) at(p string, do func(at string) error) error {
	at, done, err := w.spot(p)
	if err != nil {
		return err
	}
	defer done()
	return do(at)
}

func (w *writer) pair(p, q string, do func(p, q string) error) error {
	return w.at(p, func(p string) error { return w.at(q, func(q string) error { return do(p, q) }) })
}

// wrote notes which file was written to.
func (w *writer) wrote(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.written[fi.Sys().(*syscall.Stat_t).Ino] = true
	return nil
}

func (w *writer) open(p string, flags int, do func(f *os.File) error) error {
	return w.at(p, func(at string) error {
		f, err := os.OpenFile(at, flags|syscall.O_NONBLOCK, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
			return fmt.Errorf("not a file")
		}
		if err := w.wrote(f); err != nil {
			return err
		}
		return do(f)
	})
}

const plain = syscall.O_NOFOLLOW

func text(s string) func(f *os.File) error {
	return func(f *os.File) error {
		_, err := io.WriteString(f, s)
		return err
	}
}

func (w *writer) write(p, s string) error {
	return w.open(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|plain, text(s))
}

func (w *writer) mkdirAll(p string) (err error) {
	for i := 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			if err = w.at(p[:i], func(at string) error { return os.Mkdir(at, 0o755) }); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	return nil
}

func (w *writer) rename(p, q string) error {
	return w.pair(p, q, func(p, q string) error { return unix.Renameat2(-1, p, -1, q, 0) })
}

func (w *writer) remove(p string) error { return w.at(p, os.RemoveAll) }

// times makes a file look written to at a moment.
func (w *writer) times(p string, when time.Time) error {
	return w.open(p, os.O_RDONLY|plain, func(f *os.File) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())),
			[]unix.Timespec{unix.NsecToTimespec(when.UnixNano()), unix.NsecToTimespec(when.UnixNano())}, 0)
	})
}

func (w *writer) chmod(p string, mode os.FileMode, dir bool) error {
	flags := syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	if dir {
		flags |= syscall.O_DIRECTORY
	}
	return w.at(p, func(at string) error {
		f, err := os.OpenFile(at, flags, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if fi, err := f.Stat(); err != nil || fi.IsDir() != dir {
			return fmt.Errorf("of another kind")
		}
		if mode == 0 {
			if err := w.wrote(f); err != nil {
				return err
			}
		}
		return f.Chmod(mode)
	})
}

func (w *writer) do(o op) error {
	x, y := "in/"+o.x, "in/"+o.y
	switch out := "out/" + strconv.Itoa(o.n); o.kind {
	case "write":
		return w.write(x, o.text)
	case "rewrite":
		return w.open(x, os.O_WRONLY|plain, func(f *os.File) error {
			_, err := f.WriteAt([]byte(o.text), 0)
			return err
		})
	case "hidden write":
		return w.open(x, os.O_WRONLY|plain, text(o.text))
	case "append":
		return w.open(x, os.O_WRONLY|os.O_APPEND|plain, text(o.text))
	case "truncate":
		return w.open(x, os.O_WRONLY|plain, func(f *os.File) error { return f.Truncate(int64(o.n)) })
	case "write through":
		return w.open(x, os.O_WRONLY|os.O_TRUNC, text(o.text))
	case "touch":
		return w.times(x, time.Now())
	case "touch back":
		return w.times(x, time.Unix(1e9+int64(len(o.text)), 0))
	case "mkdir":
		return w.mkdirAll(x)
	case "grow":
		if err := w.mkdirAll(x); err != nil {
			return err
		}
		return w.write(path.Join(x, path.Base(o.y)), o.text)
	case "flood":
		return w.flood(x, o)
	case "rename", "rename dir":
		return w.rename(x, y)
	case "exchange", "exchange dir":
		return w.pair(x, y, func(x, y string) error { return unix.Renameat2(-1, x, -1, y, unix.RENAME_EXCHANGE) })
	case "remove", "remove dir":
		return w.remove(x)
	case "shuffle": // as the swap of two directories by way of a third, which is given a new one at once
		beside := x + ".aside"
		return first(w.rename(x, beside),
			func() error { return w.rename(y, x) },
			func() error { return w.rename(beside, y) },
			func() error { return w.mkdirAll(beside) },
			func() error { return w.remove(beside) })
	case "move out", "move out dir":
		if err := w.remove(out); err != nil {
			return err
		}
		return w.rename(x, out)
	case "move in", "move in dir":
		return w.rename(out, x)
	case "out write":
		return w.open(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|plain, text(o.text))
	case "link", "link hidden":
		if o.kind != "link" {
			x, y = y, x
			if err := w.remove(y); err != nil {
				return err
			}
		}
		return w.pair(x, y, os.Link)
	case "link out":
		if err := w.remove(out); err != nil {
			return err
		}
		return w.pair(x, out, os.Link)
	case "link in":
		return w.pair(out, x, os.Link)
	case "locked dir": // what is made in a directory that cannot be listed shows later
		return first(w.mkdirAll(x),
			func() error { return w.chmod(x, 0, true) },
			func() error { return w.mkdirAll(x + "/b/c") },
			func() error { return w.write(x+"/b/c/f.txt", o.text) },
			func() error { time.Sleep(time.Duration(o.n*o.n*5) * time.Millisecond); return nil },
			func() error { return w.chmod(x, 0o755, true) })
	case "mount dir":
		return first(w.mkdirAll(x), func() error {
			return w.at(x, func(x string) error { return unix.Mount("storm", x, "tmpfs", 0, "mode=755,size=16m") })
		})
	case "unmount dir":
		return w.at(x, func(x string) error { return unix.Unmount(x, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
	case "root away", "root exchange":
		return w.uproot(o)
	case "fifo":
		return w.at(x, func(x string) error { return syscall.Mkfifo(x, 0o644) })
	case "to file":
		if err := w.remove(x); err != nil {
			return err
		}
		return w.write(x, o.text)
	case "to dir":
		if err := w.remove(x); err != nil {
			return err
		}
		if err := w.mkdirAll(x); err != nil {
			return err
		}
		return w.write(x+"/f.txt", o.text)
	}
	return w.doMore(o, x, y)
}

func (w *writer) doMore(o op, x, y string) error {
	switch kind, how, _ := strings.Cut(o.kind, " "); kind {
	case "save":
		return w.save(how, x, o)
	case "chmod":
		mode, dir := []os.FileMode{0o644, 0o604, 0o664, 0o755}[o.n], strings.HasPrefix(how, "dir")
		switch how {
		case "off", "dir":
			mode = 0
		case "dir back":
			mode = 0o755
		}
		return w.chmod(x, mode, dir)
	case "symlink":
		if how == "" {
			return w.at(x, func(x string) error { return os.Symlink(o.y, x) })
		}
		beside := path.Join(path.Dir(x), fmt.Sprintf("..l.%d", w.id))
		if err := w.at(beside, func(at string) error { return os.Symlink(o.y, at) }); err != nil {
			return err
		}
		return w.rename(beside, x)
	case "swap":
		return w.pair(x, path.Join(path.Dir(x), "f.txt"), func(x, y string) error { return unix.Renameat2(-1, x, -1, y, unix.RENAME_EXCHANGE) })
	case "ignore", "unignore":
		w.now.said = append(w.now.said, o.x, o.y)
		switch {
		case kind == "unignore":
			return w.remove(x)
		case how == "rename":
			return w.rename(x, y)
		}
		return w.write(x, o.text)
	case "calm":
		return w.calm(how, x, y)
	}
	panic("no such operation: " + o.kind)
}

// uproot moves the root away for a while, or gives its place to the spare tree.
func (w *writer) uproot(o op) error {
	w.now.touched = append(w.now.touched, "")
	root, away := filepath.Join(w.base, "in"), filepath.Join(w.base, "away."+strconv.Itoa(w.id))
	if o.kind == "root exchange" {
		return unix.Renameat2(-1, root, -1, filepath.Join(w.base, "spare"), unix.RENAME_EXCHANGE)
	}
	if err := os.Rename(root, away); err != nil {
		return err
	}
	time.Sleep(time.Duration(o.n*o.n*o.n*20) * time.Millisecond)
	if os.Rename(away, root) == nil {
		return nil
	}
	// Somebody made another one.
	return first(unix.Renameat2(-1, away, -1, root, unix.RENAME_EXCHANGE), func() error { return os.RemoveAll(away) })
}

// calm does what changes no file.
func (w *writer) calm(how, x, y string) error {
	switch how {
	case "chmod":
		if err := w.chmod(x, 0o664, false); err != nil {
			return err
		}
		return w.chmod(x, 0o644, false)
	case "link":
		if err := w.pair(x, y, os.Link); err != nil {
			return err
		}
		return w.remove(y)
	}
	return w.at(x, func(at string) error {
		_, err := os.ReadFile(at)
		return err
	})
}

func (w *writer) flood(x string, o op) error {
	if err := w.mkdirAll(x); err != nil {
		return err
	}
	for i := range 100 * o.n * o.n {
		if err := w.write(fmt.Sprintf("%s/many%d.txt", x, i%150), o.text+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

// save writes as editors do, but only what is there already, as most of them would.
func (w *writer) save(how, x string, o op) error {
	var st unix.Stat_t
	if err := w.at(x, func(x string) error { return unix.Lstat(x, &st) }); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("nothing to save: %v", err)
	}
	hidden := path.Join(path.Dir(x), fmt.Sprintf(".%s.%d", path.Base(x), w.id))
	beside := path.Join(path.Dir(x), fmt.Sprintf("%s.%d~", path.Base(x), w.id))
	switch how {
	case "":
		return first(w.write(hidden, o.text), func() error { return w.rename(hidden, x) })
	case "beside":
		return first(w.write(beside, o.text), func() error { return w.rename(beside, x) })
	case "backup":
		return first(w.rename(x, beside), func() error { return w.write(x, o.text) }, func() error { return w.remove(beside) })
	case "gap":
		return first(w.write(hidden, o.text),
			func() error { return w.rename(x, beside) },
			func() error { time.Sleep(time.Duration(o.n) * time.Millisecond); return nil },
			func() error { return w.rename(hidden, x) },
			func() error { return w.remove(beside) })
	case "vim":
		probe := path.Join(path.Dir(x), strconv.Itoa(4913+w.id))
		return first(w.write(probe, ""),
			func() error { return w.remove(probe) },
			func() error { return w.rename(x, beside) },
			func() error { return w.write(x, o.text) },
			func() error { return w.chmod(x, 0o644, false) },
			func() error { return w.remove(beside) })
	}
	panic("no such save: " + how)
}

func first(err error, then ...func() error) error {
	for _, do := range then {
		if err != nil {
			return err
		}
		err = do()
	}
	return err
}
