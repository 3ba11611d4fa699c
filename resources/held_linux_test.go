package resources

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// held names what this process has open at and below the directory.
func (p *place) held() (open []string) {
	fds, err := filepath.Glob("/proc/self/fd/*")
	p.must(err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && (to == p.dir || strings.HasPrefix(to, p.dir+"/")) {
			open = append(open, to)
		}
	}
	return open
}

// TestNothingIsHeldOpen between uses: it would keep a file system from being unmounted.
func TestNothingIsHeldOpen(t *testing.T) {
	p := serve(t, "f", "d/e/g", "l -> d/e/g", "up -> d/../f", "out -> ../x", "dangling -> nothing").watch()
	for _, rel := range []string{"f", "d/e/g", "l", "up"} {
		if _, err := p.read(rel); err != nil {
			t.Errorf("%s: %v", rel, err)
		}
	}
	for _, rel := range []string{"out", "dangling", "nothing", "d/nothing/x", "f/x"} {
		p.wantAbsent(rel)
	}
	p.list()
	p.write("d/e/new", "")
	p.Root.Apply(rescan(""))
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Fatal(err)
	}
	if open := p.held(); len(open) > 0 {
		t.Errorf("open: %q", open)
	}
	file, err := p.Root.locate("d/e/g")
	p.must(err)
	content, _, err := file.open() // held can see what is open
	p.must(err)
	if len(p.held()) == 0 {
		t.Error("nothing is open while it is used")
	}
	content.Close()
	file.close()
}

// TestBodiesAloneAreHeldOpen, until they are closed: not those that were not good enough, and were read again.
func TestBodiesAloneAreHeldOpen(t *testing.T) {
	p := serve(t, "a").watch()
	for i := range mostAhead {
		p.ahead.note(fmt.Sprint(i), nil)
	}
	p.write("large", strings.Repeat("x", mcp.SmallRead+1)) // no note can be taken of it
	body, err := p.read("large")
	p.must(err)
	if open := p.held(); body.Body == nil || len(open) != 1 {
		t.Errorf("open: %q", open)
	}
	body.Close()
	if open := p.held(); len(open) > 0 {
		t.Errorf("open: %q", open)
	}
}

// TestFifoForDirectoryIsNotOpened, if it took the place after the look at it.
func TestFifoForDirectoryIsNotOpened(t *testing.T) {
	p := serve(t, "d/f")
	p.must(syscall.Mkfifo(p.at("fifo"), 0o644))
	writer, err := syscall.Open(p.at("fifo"), syscall.O_RDWR|syscall.O_NONBLOCK, 0) // a reader need not wait, and fails later
	p.must(err)
	defer syscall.Close(writer)
	at, err := p.attempt("d")
	p.must(err)
	defer at.close()
	opened, err := p.opens(p.at("fifo"), func() error { return at.enter("fifo", at.info) })
	if opened || !errors.Is(err, errMoved) {
		t.Errorf("opened %v, %v", opened, err)
	}
}

// opens reports whether path is opened while do runs.
func (p *place) opens(path string, do func() error) (opened bool, err error) {
	p.t.Helper()
	fd, errno := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	p.must(errno)
	defer syscall.Close(fd)
	_, errno = syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN)
	p.must(errno)
	err = do()
	n, _ := syscall.Read(fd, make([]byte, 1024))
	return n > 0, err
}

// TestFifoForRootIsNotOpened: whoever did would wait for somebody to write to it.
func TestFifoForRootIsNotOpened(t *testing.T) {
	p := serve(t, "f").load()
	p.must(os.Rename(p.dir, p.dir+".moved"))
	p.must(syscall.Mkfifo(p.dir, 0o644))
	writer, err := syscall.Open(p.dir, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	p.must(err)
	defer syscall.Close(writer)
	opened, err := p.opens(p.dir, func() error { _, err := p.read("f"); return err })
	if opened || err == nil {
		t.Errorf("opened %v, %v", opened, err)
	}
	p.must(os.Remove(p.dir))
	p.must(os.Rename(p.dir+".moved", p.dir))
	p.wantText("f", "content of f")
}

// TestStraightAndFromDirectoryToDirectory the same is found, where the system knows of links that are in the way.
// Once the root's path is one without a link, and once it is a link itself.
func TestStraightAndFromDirectoryToDirectory(t *testing.T) {
	files := []string{"f", "d/e/g", "l -> f", "dl -> d", "d/up -> ..", "abs/"}
	t.Run("plain root", func(t *testing.T) {
		p := serve(t, files...)
		if p.reach.native && *p.reach.real.Load() != p.dir {
			t.Skip("the directory for tests is behind a link")
		}
		straightAndWalked(t, p)
	})
	t.Run("linked root", func(t *testing.T) {
		p := serve(t, files...)
		link := filepath.Join(t.TempDir(), "link")
		p.must(os.Symlink(p.dir, link))
		p.dir = link
		p.open(nil)
		straightAndWalked(t, p)
	})
}

func straightAndWalked(t *testing.T, p *place) {
	p.must(os.Symlink(p.at("d"), p.at("abs/l")))
	p.must(syscall.Mkfifo(p.at("d/fifo"), 0o644))
	if !p.reach.native {
		t.Fatal("links are not refused by the system")
	}
	for _, rel := range []string{"f", "d", "d/e", "d/e/g", "d/fifo"} {
		straight, walked := p.straight(rel), p.walked(rel)
		if straight == nil || straight.path() != rel || straight.path() != walked.path() || !newStat(straight.info, p.who).sameFile(newStat(walked.info, p.who)) {
			t.Errorf("%s: %+v, %+v", rel, straight, walked)
			continue
		}
		f, _, err := straight.open()
		if regular := straight.info.Mode().IsRegular(); regular != (err == nil) {
			t.Errorf("%s: %v", rel, err)
		}
		if err == nil {
			f.Close()
		}
		straight.close()
		walked.close()
	}
	for _, rel := range []string{"l", "dl/e", "dl/e/g", "d/up/f", "abs/l/e/g", "nothing", "f/g", "", "d/", "d//e", "./f", "d/../f", "..", "../" + filepath.Base(p.dir)} {
		if s := p.straight(rel); s != nil {
			t.Errorf("%q is found straight: %+v", rel, s)
		}
	}
	at := p.straight("d/e/g")
	defer at.close()
	p.rename("d", "x")
	p.make("d -> x")
	if _, _, err := at.open(); !errors.Is(err, errMoved) {
		t.Errorf("through a link: %v", err)
	}
	p.remove("d")
	p.make("d/e/g")
	if _, _, err := at.open(); !errors.Is(err, errMoved) {
		t.Errorf("another one: %v", err)
	}
	top, err := p.disk.look()
	p.must(err)
	defer top.Close()
	if out, err := openIn(top, "../"+filepath.Base(p.dir), lookOnly); err == nil {
		out.Close()
		t.Error("it leads out of the directory")
	}
	p.Close()
	if p.straight("f") != nil {
		t.Error("a closed root is looked into")
	}
}

// TestRootThatBecomesALink is followed to where it leads now, although no link was on the way when it was opened.
func TestRootThatBecomesALink(t *testing.T) {
	p := serve(t, "f").load()
	p.wantText("f", "content of f")
	p.must(os.Rename(p.dir, p.dir+".old"))
	other := t.TempDir()
	p.must(os.WriteFile(filepath.Join(other, "f"), []byte("another"), 0o644))
	p.must(os.Symlink(other, p.dir))
	p.wantText("f", "another")
	p.must(os.Remove(p.dir))
	p.must(os.Rename(p.dir+".old", p.dir))
	p.wantText("f", "content of f")
}

func (p *place) walked(rel string) *spot {
	p.t.Helper()
	s, err := p.attempt(rel)
	p.must(err)
	return s
}

// TestLeaseIsNotWaitedFor: who serves files to others may hold a lease of one, which the system takes away
// after 45 s.
func TestLeaseIsNotWaitedFor(t *testing.T) {
	p := serve(t, "f")
	f, err := os.OpenFile(p.at("f"), os.O_RDWR, 0)
	p.must(err)
	defer f.Close()
	lease := func(kind int) {
		t.Helper()
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, kind); err != nil {
			t.Fatal(err)
		}
	}
	lease(unix.F_WRLCK)
	var failed *mcp.ReadError
	if _, err := p.read("f"); !errors.As(err, &failed) || failed.Reason != syscall.EAGAIN.Error() {
		t.Errorf("while there is a lease: %v", err)
	}
	lease(unix.F_UNLCK)
	p.wantText("f", "content of f")
}
