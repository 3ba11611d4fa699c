package watcher

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLoss(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b") }, func(l *lab) {
		l.hush()
		l.limitQueue(1)
		start := time.Now()
		l.do("rmr a; mkdir a; mkdir a/b; write a/b/f; mkdir a/c")
		l.idle(time.Second)
		l.consistent()
		l.idle(3 * time.Second)
		told := strings.Split(l.since(start), "\n")
		if last := told[len(told)-1]; len(told) < 2 || !strings.HasSuffix(last, " rescan .") || !strings.HasPrefix(last, "2.0") {
			l.Errorf("told %q", told)
		}
		if l.logged("events were lost") != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
	})
}

// A loss during the repair of an earlier one leads to another repair.
func TestLossDuringRepair(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir b; mkdir c") }, func(l *lab) {
		l.limitQueue(1)
		left := 5
		l.interrupt(func() {
			if left > 0 {
				left--
				l.do("rmr a; mkdir a; mkdir a/x; rmr b; mkdir b; mkdir b/x; swap a/x b/x")
			}
		})
		l.do("write f; write g; write f; write g")
		l.idle(time.Second)
		l.interrupt(nil)
		l.consistent()
	})
}

// An unreadable directory cannot be watched again after a loss, so what is known of its watch is not to be trusted.
func TestLossOverUnreadableDirectory(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a") }, func(l *lab) {
		l.limitQueue(1)
		l.do("rm a; mkdir a; chmod 1 a; write f; write g; write f")
		l.idle(time.Second)
		l.watches("")
		l.do("chmod 0 a")
		l.idle(time.Second)
		l.consistent()
		l.watches("", "a")
	})
}

// The source took a watch for another directory's, so that adding it does nothing.
func TestLossFindsWhatTheSourceMixedUp(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a") }, func(l *lab) {
		l.src.mu.Lock()
		wd := l.src.path[l.at("a")]
		delete(l.src.path, l.at("a"))
		l.src.path[l.at("z")], l.src.wd[wd] = wd, l.at("z")
		l.src.mu.Unlock()
		l.limitQueue(1)
		l.do("write f; write g; write f")
		l.idle(time.Second)
		if got := l.src.List(); len(got) != 2 || !slices.Contains(got, l.at("a")) {
			l.Errorf("the source watches %q", got)
		}
		l.limitQueue(0)
		l.tells("write a/f", "2ms a/f:content")
	})
}

// Without descriptors directories cannot be listed; their watches go on.
func TestNoDescriptors(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; mkdir c") }, func(l *lab) {
		set := func(err error) { l.fail(nil, err, 0) }
		set(syscall.EMFILE)
		l.do("chmod 1 .; chmod 0 .; mkdir d")
		l.idle(time.Second)
		l.watches("", "a", "a/b", "c")
		l.hush()
		l.do("write a/b/f")
		l.idle(time.Second)
		if got := l.since(l.began); !strings.HasSuffix(got, " a/b/f:content") {
			l.Errorf("told %q", got)
		}
		l.idle(20 * time.Second)
		l.watches("", "a", "a/b", "c")
		if l.logged("level=WARN") != 1 || l.logged(filesCure) != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
		set(syscall.EIO)
		l.idle(20 * time.Second)
		if l.logged("level=WARN") != 2 || l.logged(syscall.EIO.Error()) != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
		set(nil)
		l.idle(20 * time.Second)
		l.consistent()
		l.watches("", "a", "a/b", "c", "d")

		// What was repaired is said again when it returns.
		set(syscall.EMFILE)
		l.do("mkdir e")
		l.idle(time.Second)
		if l.logged("level=WARN") != 3 || l.logged(filesCure) != 2 {
			l.Errorf("logged:\n%s", &l.log)
		}
	})
}

// None of the other reasons is kept from the user either.
func TestUnwatchedDirectoryIsLogged(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; chmod 1 .") }, func(l *lab) {
		if l.logged("level=WARN") != 1 || l.logged(syscall.EACCES.Error()) != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
	})
	bubble(t, Options{}, func(l *lab) {
		l.deaf = true
		l.do("mkdir a; mkdir b")
		_, _, a, _ := l.find(l.at("a"), false, 0)
		_, _, in, _ := l.find(l.at(""), false, 0)
		in.kids["b"] = a
	}, func(l *lab) {
		if l.logged("level=") != 0 { // it could be one on its way from the one path to the other
			l.Errorf("logged at once:\n%s", &l.log)
		}
		l.idle(time.Minute)
		if l.logged("level=WARN") != 1 || l.logged(errTwice.Error()) != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
	})
}

func TestRepairsArePaced(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a") }, func(l *lab) {
		l.hush()
		l.onBatch = func(b Batch) { time.Sleep(100 * time.Millisecond) } // a consumer that takes its time
		start := time.Now()
		l.limitQueue(1)
		for range 100 {
			l.do("write f; write g; write f; write g")
			l.idle(10 * time.Millisecond)
		}
		l.idle(500 * time.Millisecond)
		repairs := strings.Count(l.since(start), "rescan .")
		if repairs < 2 || repairs > 6 {
			l.Errorf("%d repairs of 100 ms in 1.5 s", repairs)
		}
	})
}

func TestRootIsFollowed(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
		l.tells("rmr .", "27ms .:structure|settled a:structure|settled a/f:structure|settled rescan .")
		l.watches()
		l.idle(10 * time.Second)
		if got := l.since(l.began); got != "" {
			l.Errorf("told %q while the root is missing", got)
		}
		l.do("mkdir .; mkdir a; mkdir b")
		l.idle(3 * time.Second)
		l.consistent()
		l.watches("", "a", "b")

		// Moved, with another in its place: no event tells if it happens to an ancestor.
		l.interrupt(nil)
		l.must(l.rename(modelBase, modelBase+"2"))
		l.idle(3 * time.Second)
		l.consistent()
		l.watches()
		l.must(l.mkdir(modelBase))
		l.do("mkdir .; mkdir c; write c/f")
		l.idle(3 * time.Second)
		l.consistent()
		l.watches("", "c")
		l.must(l.exchange(modelBase, modelBase+"2"))
		l.idle(3 * time.Second)
		l.consistent()
		l.watches("", "a", "b")

		// A file is no root, a link to a directory is.
		l.do("rmr .; write .")
		l.idle(3 * time.Second)
		l.watches()
		l.do("rm .; ln ../../base2/in .")
		l.idle(3 * time.Second)
		l.watches("", "c")
	})
}

func TestRootMayBeMissing(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("rm .") }, func(l *lab) {
		if got := l.since(l.began); got != "0s rescan ." {
			l.Errorf("the first batch is %q", got)
		}
		l.do("mkdir .; mkdir a")
		l.idle(3 * time.Second)
		l.consistent()
		l.watches("", "a")
	})
}

func TestUnreadableRoot(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; chmod 1 .") }, func(l *lab) {
		l.watches()
		l.do("chmod 0 .")
		l.idle(11 * time.Second)
		l.consistent()
		l.watches("", "a")
	})

	// It has no watch, but that it vanishes is noticed as soon as for any root.
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; chmod 1 .") }, func(l *lab) {
		l.hush()
		l.do("rmr .")
		l.idle(2200 * time.Millisecond)
		if told := l.hush(); len(told) != 1 || len(told[0].Dirty) != 1 || !slices.Equal(told[0].Rescan, []string{""}) {
			l.Errorf("told %v", told)
		}
		l.do("mkdir .; mkdir b")
		l.idle(2200 * time.Millisecond)
		l.consistent()
		l.watches("", "b")
	})
}

func TestNewRefusesRelativePath(t *testing.T) {
	if _, err := New("relative", nil); err == nil {
		t.Error("no error")
	}
}

func TestErrorsNameTheirCure(t *testing.T) {
	if err := startError(syscall.EMFILE); !strings.Contains(err.Error(), instanceCure) {
		t.Error(err)
	}
	if err := addError(syscall.ENOSPC); !errors.Is(err, errLimit) || !strings.Contains(err.Error(), watchCure) {
		t.Error(err)
	}
	if err := addError(syscall.ENOENT); !gone(err) {
		t.Error(err)
	}
	if addError(nil) != nil {
		t.Error("an error of nothing")
	}
}
