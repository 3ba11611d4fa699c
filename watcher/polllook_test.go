package watcher

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// tellsOnProbe plays a script, has every polled directory looked at, and compares what was told.
func (l *lab) tellsOnProbe(script string, want ...string) {
	l.Helper()
	l.idle(time.Minute)
	l.hush()
	start := time.Now()
	l.do(script)
	l.poller.probe(l.Context())
	l.idle(200 * time.Millisecond)
	if got := l.since(start); got != strings.Join(want, "\n") {
		l.Errorf("%s\ntells\n%s\nnot\n%s", script, got, strings.Join(want, "\n"))
	}
	l.consistent()
}

func TestLooksTell(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; write a/f; write a/g; ln x a/l; mkdir c; write c/f")
	}, func(l *lab) {
		l.tellsOnProbe("write a/f", "2ms a/f:attribute")
		l.tellsOnProbe("write a/n", "2ms a:attribute|names a/n:attribute")
		l.tellsOnProbe("write a/t; mv a/t a/f", "2ms a:attribute|names a/f:attribute")
		l.tellsOnProbe("rm a/g", "2ms a:attribute|names", "27ms a/g:structure|settled")
		l.tellsOnProbe("rm a/l; ln y a/l", "2ms a:attribute|names a/l:content")
		l.tellsOnProbe("mkdir a/b/x; write a/b/x/f", "2ms a/b:attribute|names a/b/x:attribute rescan a/b/x")
		l.tellsOnProbe("swap a/b c", "2ms .:attribute|names a:structure|attribute|names a/b:structure c:structure rescan a c",
			"27ms a/b/x:structure|settled")
		l.tellsOnProbe("chmod 2 a/f", "2ms a/f:attribute")

		// It came and went between the looks.
		l.tellsOnProbe("write c/f; write c/z; rm c/z", "2ms c:attribute|names c/f:attribute")
		l.tellsOnProbe("rmr c/x", "2ms c:attribute|names", "27ms c/x:structure|settled")
	})
}

// A file that is written with its other times restored has another change time only.
func TestLookSeesRestoredTimes(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.idle(time.Minute)
		l.hush()
		start := time.Now()
		l.model.mu.Lock()
		l.change(l.peek(l.at("f")))
		l.model.mu.Unlock()
		l.poller.probe(l.Context())
		l.idle(time.Second)
		l.toldSince(start, "2ms f:content")
	})
}

// A second write in the same tick of the clock leaves the same facts. It is told of all the same, of a file once.
func TestRacyWrites(t *testing.T) {
	for _, m := range []struct {
		tick, hidden time.Duration // how long a second write goes unseen
	}{{tick, tick / 2}, {time.Second, 900 * time.Millisecond}} {
		bubble(t, Options{Poll: true}, func(l *lab) {
			l.deaf = true
			l.do("write f; mkdir a")
		}, func(l *lab) {
			l.setTick(m.tick)
			l.idle(time.Minute)
			l.do("write f")
			time.Sleep(time.Until(time.Now().Truncate(m.tick).Add(m.tick)))
			for name, script := range map[string]string{
				"f": "write f", "g": "write g", "a": "write a/x; rm a/x",
			} {
				time.Sleep(time.Until(time.Now().Truncate(m.tick).Add(m.tick)))
				synctest.Wait()
				l.do(script)
				l.poller.probe(l.Context())
				time.Sleep(m.hidden)
				l.poller.probe(l.Context())
				l.hush()
				l.do(script)
				l.idle(5 * time.Second)
				again, told := 0, l.hush()
				for _, b := range told {
					for _, d := range b.Dirty {
						if d.Path == name && d.Evidence&(Content|Names) != 0 {
							again++
						}
					}
				}
				if again == 0 || again > 1 && name != "a" {
					l.Errorf("tick %v: %s again is told %d times: %v", m.tick, script, again, told)
				}
				l.idle(time.Minute)
				if told := l.hush(); len(told) != 0 {
					l.Errorf("tick %v: told %v without a change", m.tick, told)
				}
			}
		})
	}
}

// What is written while a directory is added may have been read before.
func TestRacySnapshot(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.setTick(tick)
		time.Sleep(time.Until(time.Now().Truncate(tick).Add(tick)))
		l.deaf = true
		l.do("write f")
	}, func(l *lab) {
		l.hush()
		l.do("write f")
		l.idle(time.Second)
		if told := l.since(l.began); strings.Count(told, "f:content") != 1 {
			l.Errorf("told %q", told)
		}
	})
}

func TestPolledPermissions(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; write a/b/f; mkdir z; chmod 1 z; mkdir c; mkdir c/d; chmod 2 c")
	}, func(l *lab) {
		step := func(script string, watched ...string) {
			l.Helper()
			l.do(script)
			l.Wake()
			l.idle(5 * time.Second)
			l.watches(watched...)
		}
		l.idle(time.Minute)
		l.watches("", "a", "a/b", "c")
		step("chmod 1 a; write a/b/f", "", "a", "a/b", "c")
		step("chmod 0 z; write a/f; write a/b/f; mkdir z/y; write z/y/f", "", "a", "a/b", "c", "z", "z/y")
		step("chmod 0 a; write z/y/f; chmod 2 z", "", "a", "a/b", "c", "z")
		step("chmod 0 z; chmod 0 c", "", "a", "a/b", "c", "c/d", "z", "z/y")
		l.consistent()

		// For a moment only, in which somebody was denied a look.
		step("mkdir a/e; mkdir a/e/f; chmod 1 a/e", "", "a", "a/b", "c", "c/d", "z", "z/y")
		step("chmod 0 a/e", "", "a", "a/b", "a/e", "a/e/f", "c", "c/d", "z", "z/y")
		l.consistent()
	})
}

// What keeps directories from being looked at is said once, with the cure, and once that it is over.
func TestLooksThatFail(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("mkdir a; mkdir a/b; write a/b/f; mkdir c") }, func(l *lab) {
		l.idle(time.Minute)
		l.fail(nil, syscall.EMFILE, 0)
		l.do("write a/b/f")
		l.idle(5 * time.Minute)
		l.logs("polling", filesCure)
		l.fail(nil, nil, 0)
		l.idle(2 * passIdle)
		l.logs("polling", filesCure, "every directory can be looked at again")
		l.consistent()
		l.fail(nil, syscall.EIO, 0)
		l.idle(2 * passIdle)
		l.logs("polling", filesCure, "every directory can be looked at again", syscall.EIO.Error())
	})
}

func TestSnapshot(t *testing.T) {
	names := []string{"a", strings.Repeat("b", 255), "c\xff", "d"}
	var s snapshot
	for i, name := range names {
		s.add(name, signature(i)<<60|signature(i))
	}
	var got []string
	for name, sig := range s.all() {
		if i := signature(len(got)); sig != i<<60|i {
			t.Errorf("%q has signature %x", name, sig)
		}
		got = append(got, string(name))
	}
	if !slices.Equal(got, names) {
		t.Errorf("%q in place of %q", got, names)
	}
	if n := len(s) - 255 - len("ac?d"); n > len(names)*10 {
		t.Errorf("%d bytes besides the names", n)
	}
	for range s.all() {
		break
	}
}

func TestSignature(t *testing.T) {
	f := facts{kind: file, device: 1, inode: 2, mode: 3, links: 4, owner: 5, size: 6, mtime: 7, ctime: 8}
	differs := func(what string, change func(*facts), upper bool) {
		g := f
		change(&g)
		if a, b := f.signature(), g.signature(); a == b || a.sameUpper(b) == upper || b&racyBit != 0 {
			t.Errorf("another %s makes %x of %x", what, b, a)
		}
	}
	differs("change time", func(f *facts) { f.ctime++ }, false)
	for what, change := range map[string]func(*facts){
		"kind": func(f *facts) { f.kind = link }, "device": func(f *facts) { f.device++ }, "inode": func(f *facts) { f.inode++ },
		"mode": func(f *facts) { f.mode++ }, "link": func(f *facts) { f.links++ }, "owner": func(f *facts) { f.owner++ },
		"size": func(f *facts) { f.size++ }, "time": func(f *facts) { f.mtime++ },
	} {
		differs(what, change, true)
	}
	f.kind = directory
	differs("inode of a directory", func(f *facts) { f.inode++ }, true)
	differs("mode of a directory", func(f *facts) { f.mode++ }, false)
	differs("time of a directory", func(f *facts) { f.ctime++ }, false)
}

func TestRacy(t *testing.T) {
	now := time.Unix(1_000_000_000, 999_000_000)
	for _, c := range []struct {
		mtime, ctime time.Time
		want         bool
	}{
		{now.Add(-tick / 2), now.Add(-tick / 2), true},
		{now.Add(tick / 2), now.Add(tick / 2), true}, // by another clock
		{now.Add(-2 * tick), now.Add(-2 * tick), false},
		{now.Add(time.Hour), now.Add(-tick / 2), true},
		{now, now.Add(-2 * tick), false},
		{now.Truncate(time.Second), now.Truncate(time.Second), true},
		{now.Truncate(time.Second).Add(-time.Second), now.Truncate(time.Second).Add(-time.Second), true},
		{now, now.Truncate(time.Second).Add(-2 * time.Second), false},
		{now.Add(-tick / 2), time.Unix(0, 0), true}, // a system without change times
		{now.Add(-2 * tick), time.Unix(0, 0), false},
	} {
		f := facts{kind: file, mtime: c.mtime.UnixNano(), ctime: c.ctime.UnixNano()}
		if got := f.racy(now); got != c.want {
			t.Errorf("modified at %v, changed at %v: %v", c.mtime, c.ctime, got)
		}
	}
}

// What cannot be looked at is no trouble any more when it need not be.
func TestLooksThatNobodyNeeds(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a")
		l.maxWatches = 1
	}, func(l *lab) {
		l.logs("watch limit reached")
		l.idle(time.Second)
		l.fail(nil, syscall.EIO, 1)
		l.idle(time.Minute)
		l.logs("watch limit reached", syscall.EIO.Error())
		l.do("write a/f")
		l.poller.probe(l.Context()) // it is among the recent ones, and fails again, when it goes
		l.do("rmr a")
		l.idle(time.Minute)
		l.polls(0)
		if l.logged(string(lookWorks)) != 1 {
			l.Errorf("logged\n%s", &l.log)
		}
	})
}

// Names that came and went are remembered until a look goes well.
func TestLookThatFailsForgetsNothing(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; write a/b/f; mkdir c")
	}, func(l *lab) {
		l.idle(time.Minute)
		l.do("mv a/b c/b; mv c/b a/b")
		l.fail(nil, syscall.EMFILE, 0)
		l.poller.probe(l.Context())
		l.fail(nil, nil, 0)
		l.hush()
		start := time.Now()
		l.poller.probe(l.Context())
		l.idle(10 * time.Millisecond)
		if told := l.since(start); !strings.Contains(told, "a/b:structure") {
			l.Errorf("told\n%s", told)
		}
		l.idle(time.Minute)
		l.consistent()
	})
}

// lateDisk takes longer than a tick to answer what it has found at one path.
type lateDisk struct {
	disk
	late *atomic.Value
}

type lateFolder struct {
	folder
	path string
	late *atomic.Value
}

func (d lateDisk) open(path string, follow bool) (folder, error) {
	f, err := d.disk.open(path, follow)
	if err != nil {
		return nil, err
	}
	return lateFolder{f, path, d.late}, nil
}

func (f lateFolder) facts(name string, at age) (facts, error) {
	is, err := f.folder.facts(name, at)
	if filepath.Join(f.path, name) == f.late.Load() {
		time.Sleep(2 * tick)
	}
	return is, err
}

// A second write in the same tick is told of though that was over when the answer came.
func TestRacyWritesAndLateAnswers(t *testing.T) {
	var late atomic.Value
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.deaf = true
		l.wrap = func(inner disk) disk { return lateDisk{inner, &late} }
		l.do("write f; mkdir a")
	}, func(l *lab) {
		l.setTick(tick)
		l.idle(time.Minute)
		for name, script := range map[string]string{"f": "write f", "a": "write a/x; rm a/x"} {
			time.Sleep(time.Until(time.Now().Truncate(tick).Add(tick)))
			late.Store(l.at(name))
			l.do(script)
			go l.poller.probe(l.Context())
			synctest.Wait() // the look has found the first
			time.Sleep(tick / 2)
			l.do(script)
			l.idle(3 * tick)
			late.Store("")
			l.hush()
			l.idle(time.Minute)
			again := 0
			for _, b := range l.hush() {
				for _, d := range b.Dirty {
					if d.Path == name && d.Evidence&(Content|Names) != 0 {
						again++
					}
				}
			}
			if again == 0 {
				l.Errorf("%s is not told again", name)
			}
		}
	})
}

// The last look at a directory ends nothing of what has begun anew meanwhile.
func TestPolledAnew(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("mkdir a; write a/f") }, func(l *lab) {
		l.idle(time.Minute)
		l.do("write a/f")
		l.poller.probe(l.Context()) // it is among the recent ones
		l.poller.retire("a")
		f, err := l.model.open(l.at("a"), false)
		l.must(err)
		l.must(l.poller.add("a", l.at("a"), f))
		l.must(f.Close())
		l.idle(time.Minute)
		l.polls(2)
		l.do("write a/f")
		l.found()
	})
}

// What cannot be looked at for a while is taken to be as it was.
func TestUnsearchableIsAsItWas(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) { l.do("mkdir a; write a/f; write a/g") }, func(l *lab) {
		l.idle(time.Minute)
		l.do("chmod 2 a")
		l.poller.probe(l.Context())
		l.idle(time.Second)
		l.hush()
		start := time.Now()
		l.do("chmod 0 a; write a/f")
		l.poller.probe(l.Context())
		l.idle(10 * time.Millisecond)
		l.toldSince(start, "2ms a:attribute|names a/f:attribute rescan a")
		l.consistent()
	})
}

// The same of what is written while a directory is added.
func TestRacySnapshotAndLateAnswers(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"f": {"write f", "f:content"},
		"":  {"write x; rm x", ".:attribute|names"},
	} {
		var late atomic.Value
		bubble(t, Options{Poll: true}, func(l *lab) {
			l.deaf = true
			l.wrap = func(inner disk) disk { return lateDisk{inner, &late} }
			l.setTick(tick)
			time.Sleep(time.Until(time.Now().Truncate(tick).Add(tick)))
			l.do("write f")
			late.Store(l.at(name))
		}, func(l *lab) {
			l.do(c.script)
			l.idle(time.Second)
			if told := l.since(l.began); !strings.Contains(told, c.want) {
				l.Errorf("%s: told %q", c.script, told)
			}
		})
	}
}

// While another directory takes the place of a polled root somebody may look into that.
func TestLookSeesRootThatWasAway(t *testing.T) {
	bubble(t, Options{Poll: true}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; write a/b/f")
		l.must(l.mkdir(modelBase + "/spare"))
	}, func(l *lab) {
		swap := func() { l.must(l.exchange(l.at(""), filepath.Join(modelBase, "spare"))) }
		l.idle(time.Minute)
		l.do("write a/b/g; write a/b/h")
		l.each(func(Batch) { l.each(nil); swap() })
		l.poller.probe(l.Context())
		l.idle(10 * time.Millisecond)
		swap()
		l.poller.probe(l.Context())
		l.idle(200 * time.Millisecond)
		l.consistent()
	})
}
