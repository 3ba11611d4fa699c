package watcher

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// polls compares how many directories are polled.
func (l *lab) polls(want int) {
	l.Helper()
	if got := l.Polled(); got != want {
		l.Errorf("%d directories are polled, not %d", got, want)
	}
}

// logs compares the lines of the log, and that each holds the text.
func (l *lab) logs(want ...string) {
	l.Helper()
	lines := strings.Split(strings.TrimSpace(l.log.String()), "\n")
	if len(want) == 0 && lines[0] == "" {
		return
	}
	ok := len(lines) == len(want)
	for i := 0; ok && i < len(lines); i++ {
		ok = strings.Contains(lines[i], want[i])
	}
	if !ok {
		l.Errorf("logged\n%s\nnot %q", strings.Join(lines, "\n"), want)
	}
}

// found waits as long as a change may take to be found by looking when somebody asks, and compares the consumer with the disk.
func (l *lab) found() {
	l.Helper()
	l.Wake()
	l.idle(5 * time.Second)
	l.consistent()
}

func TestLimit(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		for i := range 5 {
			l.do(fmt.Sprintf("mkdir d%d; mkdir d%d/e; write d%d/e/f", i, i, i))
		}
		l.maxWatches = 6
	}, func(l *lab) {
		if n := l.kernelWatches(); n != 6 {
			l.Errorf("%d are watched", n)
		}
		l.polls(5)
		l.logs("watch limit reached")
		l.do("write d0/e/f; write d1/g; mkdir d1/e/x; write d1/e/x/f")
		l.found()
		l.do("write d1/e/x/f; rm d2/e/f; mkdir new; mkdir new/x; write new/x/f")
		l.found()
		l.polls(8)

		// Some more can be had, then all.
		l.fail(nil, nil, 8)
		l.idle(22 * time.Second)
		if n := l.kernelWatches(); n != 8 {
			l.Errorf("%d are watched", n)
		}
		l.idle(passIdle)
		l.polls(6)
		l.logs("watch limit reached")
		l.fail(nil, nil, 0)
		l.idle(22*time.Second + passIdle)
		l.polls(0)
		l.logs("watch limit reached", "every directory can be watched again")
		l.tells("write d1/e/x/f", "2ms d1/e/x/f:content")
		l.hush()
		l.idle(time.Minute)
		if told := l.hush(); len(told) > 0 {
			l.Errorf("told %v though all are watched", told)
		}
		l.watches("", "d0", "d0/e", "d1", "d1/e", "d1/e/x", "d2", "d2/e", "d3", "d3/e", "d4", "d4/e", "new", "new/x")

		// What is over is said again when it returns.
		l.fail(nil, nil, 14)
		l.do("mkdir z")
		l.found()
		l.polls(1)
		l.logs("watch limit reached", "every directory can be watched again", "watch limit reached")
	})
}

// A repair renews the native watches there are, though no other one is to be had.
func TestLimitAndLoss(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a; mkdir b; mkdir c; mkdir d")
		l.maxWatches = 3
	}, func(l *lab) {
		l.polls(2)
		l.limitQueue(1)
		l.do("write f; write a/g; write f; write b/g; write c/f")
		l.found()
		l.limitQueue(0)
		l.polls(2)
		if n := l.kernelWatches(); n != 3 {
			l.Errorf("%d are watched", n)
		}
		l.tells("write a/f", "2ms a/f:content")
	})
}

// What happens between the last look and the native watch is found.
func TestHandoverLosesNothing(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; write a/b/f")
		l.maxWatches = 1
	}, func(l *lab) {
		l.polls(2)
		l.idle(time.Second)
		l.fail(nil, nil, 0)
		adds := 0
		l.interrupt(func() {
			if l.src.List(); l.kernelWatches() == 2 && adds == 0 {
				adds++
				l.do("write a/b/f; write a/b/g; mkdir a/b/c; write a/b/c/f")
			}
		})
		l.idle(30 * time.Second)
		l.interrupt(nil)
		if adds == 0 {
			l.Error("nothing happened in between")
		}
		l.idle(passIdle)
		l.consistent()
		l.idle(30 * time.Second)
		l.consistent()
		l.polls(0)
	})
}

// Another directory is at the path when the native watch is added.
func TestHandoverOfReplacedDirectory(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; mkdir ../out; write ../out/f")
		l.maxWatches = 1
	}, func(l *lab) {
		l.idle(time.Second)
		l.fail(nil, nil, 0)
		swapped := false
		l.interrupt(func() {
			if l.kernelWatches() == 2 && !swapped {
				swapped = true
				l.do("swap a/b ../out")
			}
		})
		l.idle(30 * time.Second)
		l.interrupt(nil)
		l.idle(passIdle)
		l.consistent()
		l.watches("", "a", "a/b")
		l.idle(30 * time.Second)
		l.polls(0)
		l.tells("write a/b/f", "2ms a/b/f:content")
	})
}

// Without an instance all is polled, until one can be had.
func TestNoSource(t *testing.T) {
	var granted atomic.Bool
	bubbleWith(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(open func() (source, error)) func() (source, error) {
		return func() (source, error) {
			if !granted.Load() {
				return nil, startError(syscall.EMFILE)
			}
			return open()
		}
	}, func(l *lab) {
		l.polls(2)
		l.logs(instanceCure)
		l.do("write a/f; write g; mkdir b; write b/f")
		l.found()
		l.idle(time.Minute)
		l.logs(instanceCure)
		granted.Store(true)
		l.idle(22*time.Second + passIdle)
		l.polls(0)
		l.logs(instanceCure, "every directory can be watched again")
		l.tells("write b/f", "2ms b/f:content")
	})
}

// Where the system has no source of its own nobody tries again, and nothing has to be done about it.
func TestUnsupportedSource(t *testing.T) {
	tries := 0
	bubbleWith(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(func() (source, error)) func() (source, error) {
		return func() (source, error) {
			tries++
			return nil, fmt.Errorf("here: %w", errors.ErrUnsupported)
		}
	}, func(l *lab) {
		l.do("write a/f; mkdir b; write b/f")
		l.found()
		l.idle(time.Hour)
		l.logs("level=INFO")
		if tries != 1 {
			l.Errorf("%d tries", tries)
		}
	})
}

func TestPollOption(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
		l.polls(2)
		if l.src != nil {
			l.Error("a native source was opened")
		}
		l.do("write a/f; mkdir b; write b/f")
		l.found()
		l.idle(time.Hour)
		l.logs("level=INFO")
		l.consistent()
	})
}

// On a remote file system what is changed here is told at once, and what is changed elsewhere found.
func TestRemoteFileSystem(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.remote = "nfs"
		l.do("mkdir a; write a/f; write g")
	}, func(l *lab) {
		l.polls(2)
		l.logs("type=nfs")
		l.hush()
		start := time.Now()
		l.do("write a/f")
		l.idle(10 * time.Millisecond)
		l.toldSince(start, "2ms a/f:content")
		l.elsewhere("write a/f; write h; mkdir b; write b/f; rm g")
		l.found()
		l.elsewhere("write b/f; rmr a")
		l.found()
		l.idle(time.Hour)
		l.logs("type=nfs")
	})
}

// A device number is given to another file system when the one that had it is unmounted.
func TestAnotherFileSystemHasTheDevice(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
		l.polls(0)
		l.setRemote("nfs")
		l.do("mkdir b; write b/f")
		l.idle(time.Second)
		l.polls(1)
		l.elsewhere("write b/f")
		l.found()
		l.setRemote("")
		l.do("mkdir c")
		l.idle(time.Second)
		l.polls(1)
		l.do("rmr b")
		l.idle(handoverEvery * 11 / 10)
		l.polls(0)
		l.logs("type=nfs", "type=nfs")
	})
}

// elsewhere plays a script without events.
func (l *lab) elsewhere(script string) {
	l.Helper()
	l.silently(func() { l.do(script) })
}

// newNotices says into log what it has to.
func newNotices(log *logBuffer, shortage *Shortage) *notices {
	return &notices{shortage: shortage, voice: &voice{
		log:   slog.New(slog.NewTextHandler(log, nil)),
		stats: &counts{},
		read:  func() Stats { return Stats{} },
	}}
}

// TestAShortageIsSaidOnce: by the first whom the system grants too little, and that it is over by the last, however many share
// them. Each knows what its own trouble is.
func TestAShortageIsSaidOnce(t *testing.T) {
	var log logBuffer
	var shortage Shortage
	var all []*notices
	for range 4 {
		all = append(all, newNotices(&log, &shortage))
	}
	says := func(want ...string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, part := range want {
			if len(lines) != len(want) || !strings.Contains(lines[i], part) {
				t.Fatalf("not %q is said, but\n%s", want, &log)
			}
		}
	}
	for range 2 {
		for i, n := range all {
			n.noSource(errLimit, fmt.Sprint("/dir/", i))
			n.limit(errLimit, "/dir/c", func() []string { return nil })
			if !strings.Contains(n.voice.stats.read().LastError, errLimit.Error()) {
				t.Errorf("%d suffers %q", i, n.voice.stats.read().LastError)
			}
		}
		says("first=/dir/0")
	}
	all[1].leave() // its Run has ended
	all[0].review(false, nil)
	all[3].review(false, nil)
	all[3].noSource(errLimit, "/dir/3")
	all[2].review(false, nil)
	says("first=/dir/0")
	all[3].review(false, nil)
	says("first=/dir/0", "can be watched again")
	all[2].noSource(errLimit, "/dir/2")
	says("first=/dir/0", "can be watched again", "first=/dir/2")
}

// TestNotices: each condition is said once, and once that it is over, whatever comes and goes in between.
func TestNotices(t *testing.T) {
	var log logBuffer
	n := newNotices(&log, &Shortage{})
	for range 2 {
		for range 3 {
			n.remoteType("nfs", "/dir/a")
			n.remoteType("fuse", "/dir/b")
			n.limit(errLimit, "/dir/c", func() []string { return make([]string, 7) })
			n.noSource(errLimit, "/dir")
			n.review(true, []string{"nfs", "fuse", "nfs"})
		}
		n.review(true, []string{"nfs"})
		n.review(false, nil)
		n.review(false, nil)
	}
	want := []string{"type=nfs", "type=fuse", "watched=7", `more" type=fuse`, "can be watched again", `more" type=nfs`}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, line := range lines {
		if !strings.Contains(line, want[i%len(want)]) {
			t.Errorf("line %d is %s", i, line)
		}
	}
	if len(lines) != 2*len(want) {
		t.Errorf("logged\n%s", &log)
	}
}

// TestRemoteForWantOfWatches: what is on a remote file system is watched natively, too, as soon as a watch can be had, and it is
// not said before that all can be watched.
func TestRemoteForWantOfWatches(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.remote = "nfs"
		l.do("mkdir a; mkdir b; write b/f")
		l.maxWatches = 2
	}, func(l *lab) {
		l.polls(3)
		l.logs("type=nfs", "watch limit reached")
		l.idle(time.Minute)
		l.logs("type=nfs", "watch limit reached")
		l.fail(nil, nil, 0)
		l.idle(handoverEvery * 11 / 10)
		l.logs("type=nfs", "watch limit reached", "every directory can be watched again")
		l.polls(3)
		l.idle(time.Minute)
		l.hush()
		start := time.Now()
		l.do("write b/f")
		l.idle(10 * time.Millisecond)
		l.toldSince(start, "2ms b/f:content")
		l.elsewhere("write b/g")
		l.found()
		l.polls(3)
	})
}
