package watcher

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

func TestOneChangeIsToldAfterQuiet(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.tells("write f", "2ms f:content")
		l.tells("write f; write g; chmod 1 g", "2ms f:content g:content|attribute")
	})
}

func TestSteadyChangesAreToldInTime(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		start := time.Now()
		for range 16 {
			l.do("write log")
			l.idle(time.Millisecond)
		}
		l.idle(time.Second)
		l.toldSince(start, "8ms log:content\n16ms log:content")
	})
}

// A log that is written to for a long time is one path, and no burst.
func TestNoisyPathDelaysNoOther(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		for range 3000 {
			l.do("write log")
			l.idle(time.Millisecond)
		}
		l.hush()
		start := time.Now()
		l.do("write f")
		l.idle(8 * time.Millisecond)
		if got := l.since(start); !strings.Contains(got, " f:content") {
			l.Errorf("told %q", got)
		}
	})
}

func TestBurstIsToldInFewBatches(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		for i := range 2000 {
			l.do(fmt.Sprintf("write f%d", i))
			l.idle(350 * time.Microsecond)
		}
		l.idle(time.Second)
		if n := len(l.hush()); n > 20 {
			l.Errorf("%d batches", n)
		}
		l.tells("write f", "2ms f:content") // a burst ends when it is quiet
	})
}

// A file that goes on being written to does not keep a burst alive, nor do dozens.
func TestBurstEndsWhileSomePathsAreNoisy(t *testing.T) {
	for _, noisy := range []int{1, 100, 200} {
		t.Run(fmt.Sprint(noisy), func(t *testing.T) {
			bubble(t, Options{}, nil, func(l *lab) {
				noise := func() {
					for i := range noisy {
						l.do(fmt.Sprintf("write log%d", i))
					}
					l.idle(time.Millisecond)
				}
				for i := range 600 {
					l.do(fmt.Sprintf("write f%d", i))
				}
				for range 450 { // two windows of the burst, and some
					noise()
				}
				for i := range 20 {
					l.hush()
					file := fmt.Sprintf("f%d", i)
					l.do("write " + file)
					for range 8 {
						noise()
					}
					if got := l.since(l.began); !strings.Contains(got, " "+file+":content") {
						l.Fatalf("after 8 ms told %q", got)
					}
				}
			})
		})
	}
}

// Each of them changes in every window, which makes them no more than they are.
func TestNoisyPathsAreCountedOnce(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		for range 300 {
			for i := range 200 {
				l.do(fmt.Sprintf("write log%d", i))
			}
			l.idle(time.Millisecond)
		}
		if n := len(l.hush()); n < 35 {
			l.Errorf("%d batches in 300 ms", n)
		}
	})
}

func TestSaveIsOneDirty(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f; write g") }, func(l *lab) {
		// A temporary file renamed over the target.
		l.tells("write f.tmp; write f.tmp; mv f.tmp f",
			"2ms f:content",
			"27ms f.tmp:content|structure|settled")
		// vim.
		l.tells("write 4913; chmod 0 4913; rm 4913; mv f f~; write f; write f; chmod 0 f; rm f~",
			"2ms f:content|structure|attribute",
			"27ms 4913:content|structure|attribute|settled f~:content|structure|settled")
		// One that writes a new file beside the old and moves both.
		l.tells("write new; mv f old; mv new f; rm old",
			"2ms f:content|structure",
			"27ms new:content|structure|settled old:content|structure|settled")
	})
}

// An editor that leaves a gap, during which others go on.
func TestGapIsNotRemoval(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.hush()
		start := time.Now()
		l.do("mv f f~")
		l.idle(15 * time.Millisecond)
		l.do("write g")
		l.idle(5 * time.Millisecond)
		l.do("write f; rm f~")
		l.idle(time.Second)
		want := "2ms f~:content\n17ms g:content\n22ms f:content|structure\n47ms f~:structure|settled"
		if got := l.since(start); got != want {
			l.Errorf("told\n%s\nnot\n%s", got, want)
		}
		l.consistent()
	})
}

// An editor whose gap ends while the watcher looks: the event of what it put there is still on the way.
func TestGapThatEndsDuringTheLookIsOneDirty(t *testing.T) {
	for _, end := range []string{"mv new f", "write f"} {
		bubble(t, Options{}, func(l *lab) { l.do("write f; write new") }, func(l *lab) {
			l.hush()
			start := time.Now()
			l.do("mv f old")
			var once sync.Once
			l.interrupt(func() { once.Do(func() { l.do(end) }) })
			l.idle(time.Second)
			l.interrupt(nil)
			if told := l.since(start); strings.Count(told, " f:") != 1 {
				l.Errorf("%s: told\n%s", end, told)
			}
		})
	}
}

// A file that is back without an event is told all the same.
func TestReturnWithoutAnEventIsTold(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.hush()
		start := time.Now()
		l.src.events <- fsnotify.Event{Name: l.at("f"), Op: fsnotify.Remove}
		l.idle(time.Second)
		l.toldSince(start, "102ms f:structure")
	})
}

func TestRemovalIsToldOnce(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f; mkdir d; write d/g") }, func(l *lab) {
		l.tells("rm f", "27ms f:structure|settled")
		l.tells("rmr d", "27ms d:structure|settled d/g:structure|settled")
		l.watches("")
	})
}

// A lock file that is there for a moment only, always when nobody looks, is named all the same.
func TestFlickeringPathIsTold(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		for range 50 {
			l.do("write lock; rm lock")
			l.idle(10 * time.Millisecond)
		}
		if n := len(l.hush()); n < 4 || n > 6 {
			l.Errorf("told %d times in 500 ms", n)
		}
	})
}

// Absent at the end of each window and there at each second look.
func TestFlickeringPathThatIsThereAtEachSecondLook(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		l.do("write lock; rm lock")
		for range 40 {
			l.idle(26 * time.Millisecond)
			l.do("write lock")
			l.idle(1500 * time.Microsecond)
			l.do("rm lock")
		}
		told := l.hush()
		if n := len(told); n < 9 || n > 12 {
			l.Errorf("told %d times in 1.1 s", n)
		}
	})
}
