package watcher

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/fsnotify/fsnotify"
)

// testPump runs a pump on a source that a test feeds.
func testPump(t *testing.T, test func(p *pump, src *fed)) {
	synctest.Test(t, func(t *testing.T) {
		src := &fed{events: make(chan fsnotify.Event), errs: make(chan error)}
		p := newPump(newRoot(modelBase), newBarrier())
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.run(src)
		}()
		test(p, src)
		close(src.events)
		close(src.errs)
		<-done
	})
}

// fed is a source without anything behind it.
type fed struct {
	source
	events chan fsnotify.Event
	errs   chan error
}

func (f *fed) Events() <-chan fsnotify.Event { return f.events }
func (f *fed) Errors() <-chan error          { return f.errs }
func (f *fed) Lossy(error) bool              { return true }

func (f *fed) send(path string, op fsnotify.Op) {
	f.events <- fsnotify.Event{Name: newRoot(modelBase).abs(path), Op: op}
}

func TestPumpMergesEvidence(t *testing.T) {
	testPump(t, func(p *pump, src *fed) {
		src.send("f", fsnotify.Create)
		src.send("f", fsnotify.Chmod)
		src.send("", fsnotify.Remove)
		src.send("f", fsnotify.Write)
		src.send("written", fsnotify.Write)
		src.events <- fsnotify.Event{Name: newRoot("/elsewhere").abs("f"), Op: fsnotify.Write}
		synctest.Wait()
		h := p.take()
		if len(h.dirty) != 3 || h.dirty["f"] != Content|Created|Attribute || h.dirty["written"] != Content || h.dirty[""] != Structure || h.loss != nil {
			t.Errorf("merged into %+v", h)
		}
		if h := p.take(); h.paths() != 0 {
			t.Errorf("taken twice: %+v", h)
		}
	})
}

func TestPumpIsBounded(t *testing.T) {
	testPump(t, func(p *pump, src *fed) {
		for i := range maxPaths {
			src.send(fmt.Sprintf("d%d/f", i), fsnotify.Write)
		}
		src.send("d/f", fsnotify.Write)
		src.send("f", fsnotify.Write)
		src.send("d1/f", fsnotify.Chmod)
		synctest.Wait()
		h := p.take()
		_, d := h.dirs["d"]
		_, top := h.dirs[""]
		if len(h.dirty) != maxPaths || len(h.dirs) != 2 || !d || !top || h.dirty["d1/f"] != Content|Attribute {
			t.Errorf("%d paths, %d directories", len(h.dirty), len(h.dirs))
		}

		for i := range 2*maxPaths + 1 {
			p.mu.Lock()
			paths := p.h.paths()
			p.mu.Unlock()
			if paths > 2*maxPaths {
				t.Fatalf("%d paths are kept", paths)
			}
			src.send(fmt.Sprintf("d%d/f", i), fsnotify.Write)
		}
		synctest.Wait()
		if h := p.take(); h.loss == nil {
			t.Error("no loss though not everything is kept")
		}
	})
}

// A mark among what came before an error is not one that may still come.
func TestPumpReadsEventsBeforeAnError(t *testing.T) {
	for range 20 {
		b := newBarrier()
		b.marked, b.name = &waiters{}, "cookie"
		src := &fed{events: make(chan fsnotify.Event, 3), errs: make(chan error, 1)}
		src.send("f", fsnotify.Write)
		src.send("g", fsnotify.Write)
		src.events <- fsnotify.Event{Name: "cookie", Op: fsnotify.Chmod}
		src.errs <- fsnotify.ErrEventOverflow
		close(src.events)
		close(src.errs)
		p := newPump(newRoot(modelBase), b)
		p.run(src)
		if h := p.take(); h.loss == nil || len(h.dirty) != 2 {
			t.Fatalf("the hints are %+v", h)
		}
		if !b.arrived || b.stray {
			t.Fatal("the mark counts as lost")
		}
	}
}
