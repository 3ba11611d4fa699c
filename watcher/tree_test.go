package watcher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchesExistBeforeRescan(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; write a/b/f")
		l.onBatch = func(b Batch) {
			for _, dir := range b.Rescan {
				below := map[string]entry{}
				scan(l.model, newRoot(l.at("")), dir, nil, below)
				for p, e := range below {
					if e.kind == 'd' && !l.watched(l.at(p)) {
						l.Errorf("rescan %q is told before %q is watched", dir, p)
					}
				}
			}
		}
	}, func(l *lab) {
		if got := l.since(l.began); got != "0s rescan ." {
			l.Errorf("the first batch is %q", got)
		}
		l.consistent()
		l.tells("mkdir x; mkdir x/y; mkdir x/y/z; write x/y/z/f", "2ms x:content rescan x")
		l.tells("mv a/b x/y/b", "2ms x/y/b:content rescan x/y/b", "27ms a/b:structure|settled")
		l.watches("", "a", "x", "x/y", "x/y/b", "x/y/z")
	})
}

func TestDirectoryMoves(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a; mkdir a/b; mkdir a/b/c; write a/b/c/f; mkdir x; mkdir x/b; write x/b/g")
	}, func(l *lab) {
		l.tells("mv a/b b; mv a d; mv b d/b",
			"2ms d:content rescan d",
			"27ms a:structure|settled a/b:structure|settled b:content|structure|settled")
		l.tells("write d/b/c/f", "2ms d/b/c/f:content")
		l.tells("swap d x", "2ms d:content|structure x:content|structure rescan d x")
		l.tells("write x/b/c/f; write d/b/g", "2ms d/b/g:content x/b/c/f:content")
		l.tells("swap x/b d/b; swap x/b d/b; swap x/b d/b",
			"2ms d/b:content|structure x/b:content|structure rescan d/b x/b")
		l.tells("mv x ../out; mkdir x", "2ms x:content|structure rescan x")
		l.tells("write ../out/b/g; rmr x; mv ../out x", "2ms x:content|structure rescan x")
		l.tells("write x/b/g", "2ms x/b/g:content")
	})
}

// The new directory has the inode number of the old, which has taken its watch with it.
func TestRemovedAndMadeAgain(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; write a/f") }, func(l *lab) {
		l.tells("rmr a; mkdir a; mkdir a/b", "2ms a:content|structure a/b:structure rescan a", "27ms a/f:structure|settled")
		l.tells("write a/f; write a/b/f", "2ms a/b/f:content a/f:content")
	})
}

func TestLinksAreNotFollowed(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir ../out; mkdir ../out/x; mkdir a; mkdir a/x") }, func(l *lab) {
		l.tells("mv a b; ln ../out a; mkdir ../out/y",
			"2ms a:content|structure b:content rescan b")
		l.watches("", "b", "b/x")
		l.tells("rm a; mv b a", "2ms a:content|structure rescan a", "27ms b:structure|settled")
	})
}

// A directory is replaced by a link between the look at it and the watch, and comes back.
func TestReplacedWhileWatched(t *testing.T) {
	for at := range 12 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			bubble(t, Options{}, func(l *lab) { l.do("mkdir ../out; mkdir ../out/x") }, func(l *lab) {
				calls := 0
				swaps := []string{"mv d ../d; ln ../out d", "rm d; mv ../d d"}
				l.interrupt(func() {
					if calls++; calls > at && len(swaps) > 0 {
						script := swaps[0]
						swaps = swaps[1:]
						l.do(script)
					}
				})
				l.do("mkdir ../n; mkdir ../n/x; mv ../n d")
				l.idle(time.Second)
				l.interrupt(nil)
				l.consistent()
				l.watches("", "d", "d/x")
			})
		})
	}
}

func TestSkippedOwnNoWatch(t *testing.T) {
	hidden := "h"
	skip := func(dir string) bool { return strings.HasSuffix(dir, hidden) }
	bubble(t, Options{Skip: skip}, func(l *lab) {
		l.do("mkdir h; mkdir h/a; write h/a/f; mkdir v; mkdir v/a; write v/a/f")
	}, func(l *lab) {
		l.watches("", "v", "v/a")
		l.tells("write h/a/f")
		l.tells("mkdir v/h", "2ms v/h:content")

		l.hush()
		hidden = "v"
		l.rescan("") // a consumer knows by itself what it shows no longer
		l.reply.Rewalk = []string{"v/a", "h/a", "", "v", "v/a"}
		start := time.Now()
		l.do("write f")
		l.idle(time.Second)
		if got, want := l.since(start), "2ms f:content\n2ms rescan h"; got != want {
			l.Errorf("told\n%s\nnot\n%s", got, want)
		}
		l.watches("", "h", "h/a")
		l.tells("write v/a/f")
	})
}

func TestPermissions(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir a/b; write a/b/f; chmod 1 a") }, func(l *lab) {
		l.watches("")
		l.tells("chmod 0 a", "2ms a:attribute rescan a")
		l.watches("", "a", "a/b")
		l.tells("chmod 1 a", "2ms a:attribute rescan a")
		l.watches("", "a", "a/b")
		l.tells("write a/f", "2ms a/f:content")
		l.tells("chmod 0 a", "2ms a:attribute rescan a")
		l.tells("chmod 0 a", "2ms a:attribute")
		l.hush()
		start := time.Now()
		l.do("chmod 2 a") // what is in it cannot be looked at
		l.idle(time.Second)
		if got, want := l.since(start), "2ms a:attribute rescan a"; got != want {
			l.Errorf("told\n%s\nnot\n%s", got, want)
		}
		l.watches("", "a")
		l.tells("chmod 0 a; mkdir a/c", "2ms a:attribute a/c:content rescan a")
		l.watches("", "a", "a/b", "a/c")
		l.tells("chmod 1 a; chmod 0 a", "2ms a:attribute")
	})
}

// Times and modes of a directory are no reason to look at everything below it.
func TestTouchedDirectoryIsNotWalked(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		for i := range 100 {
			l.do(fmt.Sprintf("mkdir d%d; mkdir d%d/e; write d%d/e/f", i, i, i))
		}
		l.do("mkdir denied; chmod 1 denied")
	}, func(l *lab) {
		l.hush()
		start := time.Now()
		if n := l.calls(func() { l.do("chmod 0 .; chmod 0 d7; write d7/g") }); n > 20 {
			l.Errorf("%d system calls", n)
		}
		if got, want := l.since(start), "2ms .:attribute d7:attribute d7/g:content"; got != want {
			l.Errorf("told\n%s\nnot\n%s", got, want)
		}
	})
}

// The event of a directory that a walk has found already tells nothing new of what is in it.
func TestDirectoryFoundBeforeItsEvent(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		start := time.Now()
		l.interrupt(func() {
			if l.watched(l.at("a")) && !l.watched(l.at("a/b")) {
				_ = l.mkdir(l.at("a/b"))
			}
		})
		l.do("mkdir a")
		l.idle(time.Second)
		l.interrupt(nil)
		if got, want := l.since(start), "2ms a:content rescan a\n4ms a/b:content"; got != want {
			l.Errorf("told\n%s\nnot\n%s", got, want)
		}
		l.consistent()
		l.tells("write a/b/f", "2ms a/b/f:content")
	})
}

// The second directory has the number of the one that was watched, and only events of creation tell of it.
func TestReplacedTwiceByRename(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a; mkdir ../out") }, func(l *lab) {
		l.tells("mkdir ../out/x; mv ../out/x a; mkdir ../out/y; write ../out/y/f; mkdir ../out/y/z; mv ../out/y a",
			"2ms a:content rescan a")
		l.watches("", "a", "a/z")
		l.tells("write a/f; write a/z/f", "2ms a/f:content a/z/f:content")
	})
}

// A directory is shut and open again before anybody takes the events, but while a walk is below it.
func TestPermissionsFlicker(t *testing.T) {
	for at := range 30 {
		bubble(t, Options{}, func(l *lab) { l.do("mkdir ../out; mkdir ../out/b; mkdir ../out/b/c; mkdir a") }, func(l *lab) {
			calls := 0
			l.interrupt(func() {
				switch calls++; calls {
				case at:
					l.must(l.chmod(l.at("a"), noSearch))
				case at + 2:
					l.must(l.chmod(l.at("a"), 0))
				}
			})
			l.do("mv ../out/b a/b")
			l.idle(time.Second)
			l.interrupt(nil)
			l.do("chmod 0 a")
			l.idle(time.Second)
			l.consistent()
			l.watches("", "a", "a/b", "a/b/c")
		})
	}
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a") }, func(l *lab) {
		l.hush()
		start := time.Now()
		calls := 0
		l.interrupt(func() {
			switch calls++; calls {
			case 1:
				l.must(l.chmod(l.at("a"), noSearch))
			case 4:
				l.must(l.chmod(l.at("a"), 0))
			}
		})
		l.do("write a/f")
		l.idle(time.Second)
		if got, want := l.since(start), "2ms a/f:content\n4ms a:attribute rescan a/f\n6ms a:attribute"; got != want {
			l.Errorf("told\n%s\nnot\n%s", got, want)
		}
		l.watches("", "a")
	})
}

// mountAgain has the directory at path, at the top, be at the other path too.
func (l *lab) mountAgain(path, again string) {
	_, _, dir, _ := l.find(l.at(path), false, 0)
	_, _, in, _ := l.find(l.at(""), false, 0)
	in.kids[again] = dir
}

// One directory in two places is watched in the first and scanned in the other.
func TestMountedTwice(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.do("mkdir a; mkdir a/x; mkdir b")
		l.mountAgain("a", "b")
	}, func(l *lab) {
		l.watches("", "a", "a/x")
		l.hush()
		l.idle(11 * time.Second)
		if told := l.hush(); len(told) != 1 || !slices.Equal(told[0].Rescan, []string{"b"}) {
			l.Errorf("told %v", told)
		}
	})
}

// What is watched at the other path goes away, and no event names the one that is left.
func TestTwinIsWatchedWhenTheOtherGoes(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.deaf = true
		l.do("mkdir a; mkdir a/x; mkdir b")
		_, _, a, _ := l.find(l.at("a"), false, 0)
		_, _, in, _ := l.find(l.at(""), false, 0)
		in.kids["b"] = a
	}, func(l *lab) {
		l.watches("", "a", "a/x")
		l.do("mv a ../a")
		l.idle(time.Second)
		l.watches("", "b", "b/x")
	})
}

func TestManyChildren(t *testing.T) {
	bubble(t, Options{}, func(l *lab) {
		l.deaf = true
		l.do("mkdir d; mkdir d/sub")
		_, _, d, _ := l.find(l.at("d"), false, 0)
		for i := range 100_000 {
			d.kids[fmt.Sprint("f", i)] = l.newInode(false)
		}
	}, func(l *lab) {
		l.watches("", "d", "d/sub")
	})
}

func TestDeepTree(t *testing.T) {
	const depth = 200
	bubble(t, Options{}, func(l *lab) {
		l.deaf = true
		l.maxDepth = depth
		_, _, n, _ := l.find(l.at(""), false, 0)
		for range depth + 10 {
			child := l.newInode(true)
			n.kids["d"] = child
			n = child
		}
	}, func(l *lab) {
		if n := len(l.Watched()); n < depth-10 || n > depth {
			l.Errorf("%d are watched", n)
		}
		l.do("mv d e")
		l.idle(time.Second)
		if n := len(l.Watched()); n < depth-10 || n > depth {
			l.Errorf("%d are watched", n)
		}
	})
}

func TestCancelledDuringFirstWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		s := &storm{world: m, base: modelBase}
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			play(t, s, fmt.Sprintf("mkdir in/d%d", i))
		}
		w, err := New(s.path("in"), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		m.interrupt(func() {
			if calls++; calls == 20 {
				cancel()
			}
		})
		w.disk = m
		w.mounts = func() mountTable { return nil }
		w.source = func() (source, error) { return newModelSource(m), nil }
		err = w.Run(ctx, func(Batch) Reply {
			t.Error("a batch was emitted")
			return Reply{}
		})
		if err != nil || calls > 30 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}

// While a new directory cannot be looked at nobody knows that it is one.
func TestDirectoryThatCannotBeLookedAtAtFirst(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		set := func(err error) { l.fail(err, err, 0) }
		set(syscall.EIO)
		l.do("mkdir a; mkdir a/b; write f")
		l.idle(time.Second)
		if l.logged("level=WARN") != 1 || l.logged(syscall.EIO.Error()) != 1 {
			l.Errorf("logged:\n%s", &l.log)
		}
		set(nil)
		l.idle(20 * time.Second)
		l.watches("", "a", "a/b")
		l.consistent()
		l.hush()
		l.idle(time.Minute)
		if told := l.hush(); len(told) > 0 {
			l.Errorf("told %v though all are watched", told)
		}
	})
}
