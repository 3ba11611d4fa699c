package watcher

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// mountMost is after how long what was mounted has been told.
const mountMost = rootEvery * 11 / 10

func TestMountIsFound(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; write a/b/f; write a/g; mkdir c") }, func(l *lab) {
		l.hush()
		l.do("mount a")
		l.idle(mountMost)
		l.consistent()
		l.watches("", "a", "c")
		l.tells("mkdir a/x; write a/x/f", "2ms a/x:content rescan a/x")
		l.tells("write a/x/f", "2ms a/x/f:content")
		l.do("umount a")
		l.idle(mountMost)
		l.consistent()
		l.watches("", "a", "a/b", "c")
		l.tells("write a/b/f", "2ms a/b/f:content")
		if l.logged(string(mountsChanged)) != 1 || l.logged("level=WARN") != 1 { // the second within a minute
			l.Errorf("logged:\n%s", &l.log)
		}
		l.idle(time.Minute)
		l.do("mount c")
		l.idle(mountMost)
		if l.logged(string(mountsChanged)) != 2 {
			l.Errorf("logged:\n%s", &l.log)
		}
		l.hush()
		l.idle(5 * time.Minute)
		if got := l.since(l.began); got != "" {
			l.Errorf("told %q though nothing changed", got)
		}
	})
}

// A sweep that is under way, and takes its time, holds up nothing.
func TestMountIsFoundDuringASweep(t *testing.T) {
	d := &slowDisk{looks: map[string]int{}}
	bubble(t, Options{}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk = inner; return d }
		for i := range 20 * sweepPiece {
			l.do(fmt.Sprint("mkdir d", i))
		}
	}, func(l *lab) {
		d.slow(func(string) time.Duration { return time.Millisecond })
		l.idle(sweepEvery*11/10 + mountMost)
		if looks := len(d.counts()); looks == 0 || looks > 10*sweepPiece {
			t.Fatalf("%d directories were looked at", looks)
		}
		l.do("mount d0")
		l.idle(mountMost + time.Second)
		if l.logged(string(mountsChanged)) != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
		l.consistent()
	})
}

// TestSyncFindsMounts before they are looked for by themselves.
func TestSyncFindsMounts(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; write a/b/f; write a/g") }, func(l *lab) {
		for _, script := range []string{"mount a", "umount a", "mount .", "umount .", "mount ..", "umount ..", "mount a; write a/h", "umount a"} {
			l.do(script)
			l.must(l.Sync(l.Context()))
			l.consistent()
		}
	})
}

// TestMountTableIsThereToTheEnd: a Sync that Run ends in asks it as the last one.
func TestMountTableIsThereToTheEnd(t *testing.T) {
	d := &hookedDisk{}
	bubble(t, Options{}, func(l *lab) {
		l.wrap = func(inner disk) disk { d.disk, d.path = inner, l.at(""); return d }
	}, func(l *lab) {
		held := false
		hook := func() { held = true; time.Sleep(time.Minute) }
		d.hook.Store(&hook)
		go func() { _ = l.Sync(l.Context()) }() // ends with Run
		synctest.Wait()
		if !held {
			l.Error("the root was not looked at")
		}
	})
}

// What is mounted after an unmount has the same numbers, in the table and on the disk. Only its watches are gone.
func TestMountedAgainLooksTheSame(t *testing.T) {
	for _, late := range []bool{false, true} { // whether the watches end after the table was looked at
		bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mount a; mkdir a/b; write a/b/f") }, func(l *lab) {
			l.watches("", "a", "a/b")
			if late {
				l.remounted()
				l.idle(mountMost)
			}
			l.do("umount a; mount a; write a/g")
			l.idle(mountMost)
			l.consistent()
			l.watches("", "a")
			l.tells("write a/h", "2ms a/h:content")
		})
	}
}

// remounted is a change of the mount table that concerns another place.
func (m *model) remounted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remounts++
}

// The kernel changes the table first, and takes the watches away when it is done with the file system.
func TestWatchesEndAfterTheTableChanged(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mount a; mkdir a/b") }, func(l *lab) {
		l.remounted()
		l.idle(mountMost)
		l.model.mu.Lock()
		_, _, n, _ := l.find(l.at("a/b"), false, 0)
		l.unwatch(n)
		l.model.mu.Unlock()
		l.idle(mountMost)
		l.consistent()
		l.watches("", "a", "a/b")
	})
}

func TestMountsElsewhereTellNothing(t *testing.T) {
	skip := func(dir string) bool {
		if strings.HasPrefix(dir, "h/") {
			t.Errorf("asked for %q, though what is above is skipped", dir)
		}
		return dir == "h"
	}
	bubble(t, Options{Skip: skip}, func(l *lab) { l.do("mkdir a; mkdir h; mkdir h/i; mkdir ../out; mkdir ../in2") }, func(l *lab) {
		l.hush()
		for _, dir := range []string{"h/i", "h", "../out", "../in2"} {
			l.do("mount " + dir)
			l.idle(mountMost)
		}
		l.remounted()
		l.idle(time.Minute)
		if got := l.since(l.began); got != "" || l.logged("level=") > 0 {
			l.Errorf("told %q, logged:\n%s", got, &l.log)
		}
	})
}

func TestMountOverRootAndAncestor(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
		l.do("mount .")
		l.idle(mountMost)
		l.consistent()
		l.watches("")
		l.tells("mkdir b; write b/f", "2ms b:content rescan b")
		l.do("umount .")
		l.idle(mountMost)
		l.consistent()
		l.watches("", "a")

		// All of it again, between two checks: the numbers are the same.
		l.do("mount .; write f")
		l.idle(mountMost)
		l.do("umount .; mount .; write g")
		l.idle(mountMost)
		l.consistent()
		l.tells("write h", "2ms h:content")
		l.do("umount .")
		l.idle(mountMost)

		l.do("mount ..")
		l.idle(mountMost)
		l.consistent()
		l.watches()
		l.do("umount ..")
		l.idle(mountMost)
		l.consistent()
		l.watches("", "a")
		l.tells("write a/f", "2ms a/f:content")
	})
}

// fixedTable is a mount table that a test fills.
type fixedTable struct {
	changes int
	mounts  []mount
	err     error
}

func (t *fixedTable) changed() (yes bool) {
	yes, t.changes = t.changes > 0, 0
	return yes
}

func (t *fixedTable) list() ([]mount, error) { return t.mounts, t.err }
func (t *fixedTable) close()                 {}

// A table that cannot be read says nothing of what was unmounted, and is read when it can be.
func TestMountTableThatCannotBeReadIsReadLater(t *testing.T) {
	r := newRoot(modelBase)
	table := &fixedTable{mounts: []mount{{r.top(), ""}, {r.abs("a"), ""}}}
	m := newMounts(table)
	m.changed(r.dir)
	table.changes, table.err = 1, syscall.ENOMEM
	for range 3 {
		if paths, _ := m.changed(r.dir); len(paths) > 0 {
			t.Errorf("changed are %q though nothing is known", paths)
		}
	}
	table.mounts, table.err = append(table.mounts, mount{r.abs("b"), ""}), nil
	if paths, _ := m.changed(r.dir); !slices.Equal(paths, []string{"b"}) {
		t.Errorf("changed are %q, not b", paths)
	}
}
