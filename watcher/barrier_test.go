package watcher

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// syncs calls Sync and compares how long it took.
func (l *lab) syncs(want time.Duration) {
	l.Helper()
	start := time.Now()
	l.must(l.Sync(l.Context()))
	if took := time.Since(start); took != want {
		l.Errorf("Sync took %v, not %v", took, want)
	}
	if d := l.differs(l.Watched()); d != "" {
		l.Errorf("after Sync the consumer is left with\n%s", d)
	}
}

func TestSyncWithoutChangesTakesNoTime(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		for range 3 {
			l.syncs(0)
		}
		l.toldSince(l.began, "")
	})
}

func TestSyncClosesTheWindow(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f; mkdir d") }, func(l *lab) {
		for _, c := range []struct{ script, told string }{
			{"write f", "0s f:content"},
			{"mv f d/f; mv d/f g", "0s g:content\n25ms d/f:content|structure|settled f:structure|settled"},
			{"mkdir a; mkdir a/b; mkdir a/b/c; write a/b/c/f", "0s a:content rescan a"},
			{"rmr a", "25ms a:structure|settled a/b:structure|settled a/b/c:structure|settled a/b/c/f:structure|settled"},
		} {
			l.hush()
			start := time.Now()
			l.do(c.script)
			l.must(l.Sync(l.Context()))
			l.toldSince(start, c.told)
			l.consistent()
		}
	})
}

// TestSyncShowsNoSave: what a save makes and takes for a moment is told no sooner than without Sync.
func TestSyncShowsNoSave(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.hush()
		start := time.Now()
		synced := make(chan error, 2)
		sync := func() {
			go func() { synced <- l.Sync(l.Context()) }()
			synctest.Wait()
		}
		l.do("write new; mv f old")
		sync()
		l.do("mv new f")
		sync()
		l.do("rm old")
		l.must(<-synced)
		l.must(<-synced)
		l.idle(time.Second)
		if got := l.since(start); strings.Contains(got, "f:structure") || !strings.Contains(got, "f:content|structure") {
			l.Errorf("told\n%s", got)
		}
	})
}

func TestSyncWaitsForSecondLooks(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.hush()
		start := time.Now()
		l.do("write f")
		l.syncs(secondLook)
		l.toldSince(start, "0s f:content\n25ms f:settled")
	})
}

// TestSyncWaitsForNoLaterChange: names that come and go all the while hold it up for no longer than they are held back.
func TestSyncWaitsForNoLaterChange(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.each(func(b Batch) {
			for _, d := range b.Dirty {
				if d.Evidence&Settled == 0 {
					l.reply.Unsettled = append(l.reply.Unsettled, d.Path)
				}
			}
		})
		var busy sync.WaitGroup
		over := make(chan struct{})
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
					l.do(fmt.Sprintf("write f%d; write g; rm g", i))
				}
			}
		})
		for range 20 {
			time.Sleep(7 * time.Millisecond)
			start := time.Now()
			l.must(l.Sync(l.Context()))
			if took := time.Since(start); took > burstMost+flickerMost {
				l.Errorf("Sync took %v", took)
			}
		}
		close(over)
		busy.Wait()
	})
}

// TestSyncLeavesABurstTogether: a window of many paths is one batch all the same.
func TestSyncLeavesABurstTogether(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		for i := range 1000 {
			l.do(fmt.Sprintf("write f%d", i))
		}
		l.syncs(burstQuiet)
		if told := l.hush(); len(told) != 1 || len(told[0].Dirty) != 1000 {
			l.Errorf("told in %d batches", len(told))
		}
	})
	bubble(t, Options{}, nil, func(l *lab) {
		for i := range 400 {
			l.do(fmt.Sprintf("write f%d", i))
			if i >= burstPaths {
				l.idle(burstMost/(400-burstPaths) + 1)
			}
		}
		l.hush()
		l.do("write g") // few paths, but the burst goes on
		l.syncs(burstQuiet)
	})
}

// TestSyncWaitsForRewalk: what the consumer lets through because of a change is watched and told too.
func TestSyncWaitsForRewalk(t *testing.T) {
	var show atomic.Bool
	skip := func(dir string) bool { return dir == "d" && !show.Load() }
	bubble(t, Options{Skip: skip}, func(l *lab) { l.do("mkdir d; mkdir d/e; write d/e/f") }, func(l *lab) {
		l.each(func(b Batch) {
			if slices.ContainsFunc(b.Dirty, func(d Dirty) bool { return d.Path == "rules" }) {
				show.Store(true)
				l.reply.Rewalk = []string{""}
			}
		})
		l.do("write rules")
		l.syncs(0)
		l.watches("", "d", "d/e")
	})
}

func TestSyncNoticesAnotherRoot(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f; mkdir ../other; write ../other/g") }, func(l *lab) {
		l.do("swap . ../other")
		l.must(l.Sync(l.Context()))
		l.consistent()
		l.must(l.rename(modelBase, modelBase+"2")) // no event tells if it happens to an ancestor
		l.must(l.Sync(l.Context()))
		l.consistent()
		l.watches()
	})
}

func TestSyncWaitsForRepair(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("mkdir a") }, func(l *lab) {
		const takes = 50 * time.Millisecond
		l.each(func(Batch) { time.Sleep(takes) }) // so that repairs are paced
		l.limitQueue(1)
		for i := range 10 {
			l.do(fmt.Sprintf("rmr a; mkdir a; mkdir a/%d; write a/f", i)) // the mark is lost with the others
			start := time.Now()
			l.must(l.Sync(l.Context()))
			l.consistent()
			if took, most := time.Since(start), (repairRest+2)*takes; took > most {
				l.Errorf("Sync took %v, more than %v", took, most)
			}
		}
	})
}

// late is a source that passes the marks on when it is told to.
type late struct {
	source
	events chan fsnotify.Event
	pass   chan struct{}

	mu    sync.Mutex // guards what follows
	names []string   // of the cookie at each mark
	kept  []fsnotify.Event
}

func newLate(src source) *late {
	s := &late{source: src, events: make(chan fsnotify.Event), pass: make(chan struct{})}
	go func() {
		defer close(s.events)
		for e := range src.Events() {
			if name, _ := src.Cookie(false); strings.Contains(e.Name, "cookie") || e.Name == name {
				s.mu.Lock()
				s.kept = append(s.kept, e)
				s.mu.Unlock()
				continue
			}
			s.events <- e
		}
	}()
	return s
}

func (s *late) Events() <-chan fsnotify.Event { return s.events }

func (s *late) Mark() error {
	name, err := s.Cookie(false)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.names = append(s.names, name)
	s.mu.Unlock()
	return s.source.Mark()
}

// release passes on the marks that were kept.
func (s *late) release() (n int) {
	s.mu.Lock()
	kept := s.kept
	s.kept = nil
	s.mu.Unlock()
	for _, e := range kept {
		s.events <- e
	}
	return len(kept)
}

// marks returns the names of the marks made so far.
func (s *late) marks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names)
}

// lateBubble is bubble with the marks held back.
func lateBubble(t *testing.T, test func(*lab, *late)) {
	var src *late
	bubbleOn(t, Options{}, func(m *modelSource) source {
		src = newLate(m)
		return src
	}, nil, func(l *lab) { test(l, src) })
}

// goSync calls Sync beside the test; the channel has what it returns.
func (l *lab) goSync() chan error {
	done := make(chan error, 1)
	go func() { done <- l.Sync(l.Context()) }()
	synctest.Wait()
	return done
}

func pending(done chan error) bool {
	synctest.Wait()
	return len(done) == 0
}

func TestSyncWaitsForItsMark(t *testing.T) {
	lateBubble(t, func(l *lab, src *late) {
		done := l.goSync()
		l.idle(100 * time.Millisecond)
		if !pending(done) {
			l.Error("Sync did not wait")
		}
		src.release()
		l.must(<-done)
	})
}

// TestSyncsShareMarks: those who come while a mark is under way share the next one, and are not content with that one.
func TestSyncsShareMarks(t *testing.T) {
	lateBubble(t, func(l *lab, src *late) {
		first := l.goSync()
		var others []chan error
		for range 100 {
			others = append(others, l.goSync())
		}
		src.release()
		l.must(<-first)
		if n := slices.IndexFunc(others, func(c chan error) bool { return !pending(c) }); n >= 0 {
			l.Errorf("caller %d was content with an earlier mark", n)
		}
		src.release()
		for _, c := range others {
			l.must(<-c)
		}
		if n := len(src.marks()); n != 2 {
			l.Errorf("%d marks for 101 callers", n)
		}
	})
}

// TestSyncTakesNoOldMark: one that was thought lost with other events comes after all, when another is awaited.
func TestSyncTakesNoOldMark(t *testing.T) {
	lateBubble(t, func(l *lab, src *late) {
		first := l.goSync()
		l.src.errs <- fsnotify.ErrEventOverflow
		l.must(<-first)
		if took := time.Since(l.began); took >= markMost {
			l.Errorf("the loss was known after %v", took)
		}
		second := l.goSync()
		if n := src.release(); n != 2 {
			l.Fatalf("%d marks came", n)
		}
		l.must(<-second)

		third := l.goSync()
		l.src.errs <- fsnotify.ErrEventOverflow
		l.must(<-third)
		src.mu.Lock()
		old := src.kept
		src.kept = nil
		src.mu.Unlock()
		fourth := l.goSync()
		src.events <- old[0]
		if !pending(fourth) {
			l.Error("an old mark was taken for a new one")
		}
		src.release()
		l.must(<-fourth)
	})
}

// TestSyncTakesNoLateMark: one that somebody has waited for in vain comes when another is awaited. From then on none is missing.
func TestSyncTakesNoLateMark(t *testing.T) {
	lateBubble(t, func(l *lab, src *late) {
		heard := l.goSync()
		src.release()
		l.must(<-heard)
		l.must(<-l.goSync()) // after markMost
		src.mu.Lock()
		old := src.kept
		src.kept = nil
		src.mu.Unlock()
		third := l.goSync()
		src.events <- old[0]
		if !pending(third) {
			l.Error("a late mark was taken for a new one")
		}
		src.release()
		l.must(<-third)
		fourth := l.goSync()
		src.release()
		l.must(<-fourth)
		if m := src.marks(); m[1] == m[2] || m[2] != m[3] {
			l.Errorf("the marks were called %q", m)
		}
	})
}

// oldMark is a source whose last mark, thought lost, comes while the next cookie is made.
type oldMark struct {
	source
	barrier *barrier
}

func (s oldMark) Cookie(bool) (string, error) {
	s.barrier.read("old")
	return "new", nil
}

func (oldMark) Mark() error { return nil }

func TestSyncTakesNoOldMarkForTheNextCookie(t *testing.T) {
	b := newBarrier()
	b.name, b.stray = "old", true
	if _, err := b.join(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	b.mark(oldMark{barrier: b}, now)
	if b.take(now) != nil {
		t.Error("an old mark was taken for the next one")
	}
	b.read("new")
	if b.take(now) == nil {
		t.Error("the mark was not taken")
	}
}

// TestSyncDoesWithoutMarks: where none can be had, or none comes, it waits for a window. That none comes must be seen first.
func TestSyncDoesWithoutMarks(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.src.mu.Lock()
		l.src.mute = true
		l.src.mu.Unlock()
		l.do("write f")
		l.syncs(unmarked)
		l.syncs(unmarked)
		l.src.mu.Lock()
		l.src.mute = false
		l.src.mu.Unlock()
		l.syncs(0)
	})
	lateBubble(t, func(l *lab, src *late) {
		l.syncs(markMost)
		l.do("write f")
		l.syncs(unmarked)
		done := l.goSync()
		src.release()
		l.must(<-done)
		done = l.goSync()
		l.idle(markMost / 2)
		if !pending(done) {
			l.Error("Sync did not wait for a mark though one has come")
		}
		l.must(<-done) // after markMost
		done = l.goSync()
		l.idle(markMost / 2)
		if !pending(done) {
			l.Error("Sync did not wait for a mark after one that was late")
		}
		src.release()
		l.must(<-done)
	})
}

func TestSyncEnds(t *testing.T) {
	lateBubble(t, func(l *lab, _ *late) {
		ctx, cancel := context.WithTimeout(l.Context(), 10*time.Millisecond)
		defer cancel()
		if err := l.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) {
			l.Errorf("Sync returned %v", err)
		}
	})

	// Run leaves none behind, whatever they wait for.
	synctest.Test(t, func(t *testing.T) {
		w, err := New(filepath.Join(modelBase, "in"), nil)
		if err != nil {
			t.Fatal(err)
		}
		early := make(chan error, 1)
		go func() { early <- w.Sync(t.Context()) }()
		synctest.Wait()
		m := newModel()
		w.disk = m
		w.source = func() (source, error) { return newModelSource(m), nil }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		entered := make(chan struct{}, 1)
		go func() {
			ended <- w.Run(ctx, func(Batch) Reply {
				entered <- struct{}{}
				<-ctx.Done()
				return Reply{}
			})
		}()
		<-entered
		if !pending(early) {
			t.Error("Sync did not wait for the first batch to be applied")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := <-early; !errors.Is(err, errNotRunning) {
			t.Errorf("Sync returned %v", err)
		}
		if err := w.Sync(t.Context()); !errors.Is(err, errNotRunning) {
			t.Errorf("Sync returned %v", err)
		}
	})
}

// TestSyncEndsAmongSecondLooks: it is told that Run ends when its mark has come.
func TestSyncEndsAmongSecondLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		w, err := New(modelBase, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.disk = m
		w.source = func() (source, error) { return newModelSource(m), nil }
		if err := m.mkdir(modelBase); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended, synced := make(chan error, 1), make(chan error, 1)
		go func() { ended <- w.Run(ctx, func(Batch) Reply { return Reply{Unsettled: []string{"f"}} }) }()
		go func() { synced <- w.Sync(t.Context()) }()
		if !pending(synced) {
			t.Error("Sync did not wait for the second look")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		select {
		case err := <-synced:
			if !errors.Is(err, errNotRunning) {
				t.Errorf("Sync returned %v", err)
			}
		default:
			t.Error("Sync goes on though Run has ended")
		}
	})
}
