//go:build linux && mounts

package watcher

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests mount. Run them in a mount namespace of their own: unshare -Urm go test -tags mounts -run Mounted ./watcher

// mounting is a tree whose directories are mounted over.
type mounting struct {
	*testing.T
	*running
	dir string
	log logBuffer
}

func (m *mounting) at(rel string) string { return filepath.Join(m.dir, filepath.FromSlash(rel)) }

func (m *mounting) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *mounting) write(rel string) {
	m.Helper()
	m.must(os.MkdirAll(filepath.Dir(m.at(rel)), 0o777))
	m.must(os.WriteFile(m.at(rel), []byte(rel), 0o666))
}

func (m *mounting) tmpfs(rel string) {
	m.Helper()
	m.must(unix.Mount("none", m.at(rel), "tmpfs", 0, ""))
	m.Cleanup(func() { _ = unix.Unmount(m.at(rel), unix.MNT_DETACH) })
}

func (m *mounting) bind(from, to string) {
	m.Helper()
	m.must(unix.Mount(m.at(from), m.at(to), "", unix.MS_BIND, ""))
	m.Cleanup(func() { _ = unix.Unmount(m.at(to), unix.MNT_DETACH) })
}

// unmount must not find anything busy: the watcher may hold a directory open while it lists it, and no longer.
func (m *mounting) unmount(rel string) {
	m.Helper()
	eventually(m.T, func() string {
		switch err := unix.Unmount(m.at(rel), 0); err {
		case nil:
			return ""
		case unix.EBUSY:
			return "busy"
		default:
			m.Fatal(err)
			return ""
		}
	})
}

// equal waits until the consumer knows the disk, and every directory has the watch that tells of the next change.
func (m *mounting) equal() {
	m.Helper()
	m.settled(m.T, true)
}

// found checks who found what was mounted: it was the table, once and said so, and not a sweep that comes later.
func (m *mounting) found() {
	m.Helper()
	if text := m.log.String(); strings.Count(text, string(mountsChanged)) != 1 || strings.Contains(text, string(unheardBegins)) {
		m.Errorf("logged:\n%s", text)
	}
}

// mountedTree has a, a/b and c, each with a file, and what prepare makes.
func mountedTree(t *testing.T, prepare func(*mounting)) *mounting {
	t.Helper()
	m := &mounting{T: t, dir: filepath.Join(t.TempDir(), "up", "in")}
	m.must(os.MkdirAll(m.dir, 0o777))
	m.write("a/b/f")
	m.write("a/g")
	m.write("c/h")
	if prepare != nil {
		prepare(m)
	}
	m.running = start(t, m.dir, &Options{Logger: slog.New(slog.NewTextHandler(&m.log, nil))}, nil)
	m.equal()
	return m
}

func TestMountedOverDirectory(t *testing.T) {
	m := mountedTree(t, nil)
	m.tmpfs("a")
	m.equal()
	m.write("a/x/y")
	m.equal()
	m.unmount("a")
	m.equal()
	m.write("a/b/new")
	m.equal()
	m.found()
}

func TestMountedLazilyAway(t *testing.T) {
	m := mountedTree(t, func(m *mounting) { m.tmpfs("a"); m.write("a/x/y") })
	busy, err := os.Open(m.at("a/x"))
	m.must(err)
	defer busy.Close()
	m.must(unix.Unmount(m.at("a"), unix.MNT_DETACH))
	m.equal()
	m.write("a/b/new")
	m.equal()
	m.found()
}

// The same numbers come again at once.
func TestMountedAgain(t *testing.T) {
	m := mountedTree(t, func(m *mounting) { m.tmpfs("a"); m.write("a/x/y"); m.tmpfs("c") })
	m.unmount("a")
	m.tmpfs("a")
	m.write("a/x/z")
	m.equal()
	m.write("a/x/zz")
	m.equal()
	m.found()
}

func TestMountedElsewhereInTheTree(t *testing.T) {
	m := mountedTree(t, func(m *mounting) {
		m.must(os.Mkdir(m.at("../out"), 0o777))
		m.write("../out/o/p")
	})
	m.bind("../out", "a/b")
	m.equal()
	m.write("../out/o/q") // seen through the other path
	m.equal()
	m.unmount("a/b")
	m.equal()
	m.found()
}

// A file can be mounted over too, and takes its content from elsewhere.
func TestMountedOverFile(t *testing.T) {
	m := mountedTree(t, func(m *mounting) { m.write("../other") })
	m.bind("../other", "a/g")
	m.equal()
	m.unmount("a/g")
	m.equal()
	m.found()
}

func TestMountedAnew(t *testing.T) {
	m := mountedTree(t, func(m *mounting) { m.tmpfs("a"); m.write("a/x/y") })
	m.must(unix.Mount("none", m.at("a"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	m.must(unix.Mount("none", m.at("a"), "", unix.MS_REMOUNT, ""))
	m.tmpfs("c")
	m.equal() // by now the table was looked at
	m.consumer.mu.Lock()
	batches := m.batches[1:]
	m.consumer.mu.Unlock()
	for _, b := range batches {
		if len(b.Rescan) != 1 || b.Rescan[0] != "c" {
			t.Errorf("told %+v because of another mode", b)
		}
	}
}

func TestMountedOverRootAndAncestor(t *testing.T) {
	for _, top := range []string{"", ".."} {
		t.Run(name(top), func(t *testing.T) {
			m := mountedTree(t, nil)
			m.tmpfs(top)
			m.equal()
			m.write("n/o")
			m.equal()
			m.unmount(top)
			m.equal()
			m.write("a/b/new")
			m.equal()
		})
	}
}

// TestMountedRootGoesAndComes: it can be unmounted while it is watched, also between two looks at it.
func TestMountedRootGoesAndComes(t *testing.T) {
	m := mountedTree(t, func(m *mounting) { m.tmpfs(""); m.write("x/y") })
	m.unmount("")
	m.tmpfs("")
	m.write("x/z")
	m.equal()
	m.unmount("")
	m.equal()
	m.write("a/b/new")
	m.equal()
}

// TestMountedTwiceIsToldTwice: one directory at three paths, one of them below it. Its files are known under all.
func TestMountedTwiceIsToldTwice(t *testing.T) {
	m := mountedTree(t, func(m *mounting) { m.must(os.Mkdir(m.at("a/below"), 0o777)); m.must(os.Mkdir(m.at("d"), 0o777)) })
	m.bind("a", "d")
	m.bind("a", "a/below")
	known := func(paths ...string) {
		t.Helper()
		eventually(t, func() string {
			m.consumer.mu.Lock()
			defer m.consumer.mu.Unlock()
			for _, p := range paths {
				if e, ok := m.snap[p]; !ok || e.content != "a/"+filepath.Base(p) {
					return "not as it is: " + p
				}
			}
			return ""
		})
	}
	known("a/g", "d/g", "a/below/g")
	m.write("a/i")
	known("a/i", "d/i", "a/below/i")
	m.must(os.WriteFile(m.at("d/j"), []byte("a/j"), 0o666))
	known("a/j", "d/j", "a/below/j")
	if text := m.log.String(); strings.Contains(text, string(unwatchedBegins)) {
		t.Errorf("a scan was needed:\n%s", text) // it says so first
	}
	m.unmount("a/below")
	m.unmount("d")
	m.equal()
}
