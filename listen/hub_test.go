package listen_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func TestNothingIsLostAfterOpen(t *testing.T) {
	h := listen.NewHub(nil)
	for i := range 500 {
		s := open(t, h, fmt.Sprint(i), uris("a"), &counter{})
		publish(h, "a")
		said, _ := drain(t, s, time.Now())
		check(t, said, "ack", "a")
		if i%3 == 0 {
			s.Cancel()
		}
	}
}

func TestPublishNeverWaitsForAClient(t *testing.T) {
	// The carrier of the stalled stream is in the middle of a write: it has a frame and does not come back.
	h := listen.NewHub(nil)
	stalled := open(t, h, `1`, uris("a"), &counter{})
	healthy := open(t, h, `2`, uris("a"), &counter{})
	if frame, _ := stalled.Next(nil, time.Now()); frame == nil {
		t.Fatal("no frame")
	}
	drain(t, healthy, time.Now())
	for i := range 1000 {
		publish(h, "a")
		said, _ := drain(t, healthy, time.Now().Add(time.Duration(i)*time.Second))
		check(t, said, "a")
	}
}

func TestCarrierMayCallBack(t *testing.T) {
	h := listen.NewHub(nil)
	calls := 0
	var other *listen.Stream
	c := carrierFunc(func(s *listen.Stream) {
		if calls++; calls > 10 {
			return
		}
		s.ID()
		s.URIs()
		s.Done()
		h.Len()
		s.Next(nil, time.Now())
		s.Add(listen.Sub{Key: "b", URI: "b"})
		publish(h, "b", "other")
		s.Remove("b")
		o := open(t, h, `2`, uris("other"), &counter{})
		publish(h, "other")
		o.Complete()
		o.Cancel()
		if other != nil {
			s.Complete()
			other.Cancel()
			s.Cancel()
		}
	})
	s := open(t, h, `1`, uris("a"), c)
	drain(t, s, time.Now())
	other = open(t, h, `3`, uris("a"), &counter{})
	publish(h, "a")
	<-s.Done()
	<-other.Done()
	if calls < 2 || h.Len() != 0 {
		t.Errorf("called %d times, %d streams are left", calls, h.Len())
	}
}

func TestTooManyStreams(t *testing.T) {
	h := listen.NewHub(&listen.Options{MaxStreams: 2})
	a := open(t, h, `1`, uris("a"), &counter{})
	open(t, h, `2`, uris("a"), &counter{})
	var c counter
	if _, err := h.Open([]byte(`3`), uris("a"), []listen.Sub{{Key: "a", URI: "a"}}, &c, nil); !errors.Is(err, listen.ErrTooManyStreams) {
		t.Errorf("error is %v", err)
	}
	publish(h, "a")
	if c.wakes.Load() != 0 || h.Len() != 2 {
		t.Errorf("the refused stream was woken %d times, %d are open", c.wakes.Load(), h.Len())
	}
	a.Cancel()
	open(t, h, `3`, uris("a"), &counter{})
	unlimited := listen.NewHub(&listen.Options{MaxStreams: -1})
	open(t, unlimited, `1`, uris("a"), &counter{})
}

func TestShutdownWaitsUntilAllAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := listen.NewHub(nil)
		var c counter
		a, b := open(t, h, `1`, uris("a"), &c), open(t, h, ``, uris("a"), &c)
		gone := open(t, h, `3`, uris("a"), &c)
		drain(t, a, time.Now())
		publish(h, "a")
		c.wakes.Store(0)
		returned := make(chan error)
		for range 2 {
			go func() { returned <- h.Shutdown(t.Context()) }()
			synctest.Wait()
		}
		if _, err := h.Open([]byte(`4`), uris("a"), nil, &c, nil); !errors.Is(err, listen.ErrShutdown) {
			t.Errorf("Open: %v", err)
		}
		waiting := func() {
			t.Helper()
			synctest.Wait()
			select {
			case <-returned:
				t.Fatal("Shutdown returned too early")
			default:
			}
		}
		gone.Cancel()
		waiting()
		said, wait := drain(t, b, time.Now())
		check(t, said, "a")
		if wait != listen.Over {
			t.Errorf("wait is %v", wait)
		}
		waiting()
		for _, want := range []string{"a", "result"} {
			frame, _ := a.Next(nil, time.Now())
			if got := decode(t, frame).said(); got != want {
				t.Errorf("said %s, want %s", got, want)
			}
			waiting()
		}
		a.Next(nil, time.Now())
		for range 2 {
			if err := <-returned; err != nil {
				t.Error(err)
			}
		}
		select {
		case <-a.Done():
		default:
			t.Error("Shutdown returned before a stream was done")
		}
		if h.Len() != 0 {
			t.Errorf("%d streams are left", h.Len())
		}
	})
}

func TestShutdownWakesWhatIsIdle(t *testing.T) {
	h := listen.NewHub(nil)
	c := carrierFunc(func(s *listen.Stream) { drain(t, s, time.Now()) })
	open(t, h, `1`, uris("a"), c)
	open(t, h, `2`, listen.Filter{ToolsListChanged: true}, c)
	open(t, h, ``, uris("a"), c)
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestShutdownOfAnEmptyHub(t *testing.T) {
	h := listen.NewHub(nil)
	for range 2 {
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestShutdownGivesUpWithItsContext(t *testing.T) {
	h := listen.NewHub(nil)
	s := open(t, h, `1`, uris("a"), &counter{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	s.Cancel()
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	h := listen.NewHub(nil)
	for i := range 100 {
		s := open(t, h, fmt.Sprint(i), uris("a"), &counter{})
		s.Done()
		publish(h, "a")
		drain(t, s, time.Now())
		publish(h, "a")
		drain(t, s, time.Now())
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

func TestCancelledStreamIsForgotten(t *testing.T) {
	h := listen.NewHub(nil)
	f := listen.Filter{ResourcesListChanged: true, ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{"a", "b"}}
	older := open(t, h, `1`, f, &counter{})
	var all []*listen.Stream
	for range 20 {
		all = append(all, open(t, h, `2`, f, &counter{}))
	}
	younger := open(t, h, `3`, f, &counter{})
	h.Publish(listen.Change{List: true, Keys: []string{"a"}})
	var gone []weak.Pointer[listen.Stream]
	for i, s := range all {
		s.Cancel()
		gone = append(gone, weak.Make(s))
		all[i] = nil
	}
	younger.Cancel() // the last to come is the first of its keys
	gone = append(gone, weak.Make(younger))
	runtime.GC()
	for i, p := range gone {
		if p.Value() != nil {
			t.Errorf("stream %d of %d is still held", i, len(gone))
		}
	}
	said, _ := drain(t, older, time.Now())
	check(t, said, "ack", methodList, "a")
	if h.Len() != 1 {
		t.Errorf("%d streams are open", h.Len())
	}
}

func TestMemoryComesBack(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	h := listen.NewHub(nil)
	before := heap()
	var all []*listen.Stream
	for i := range 2000 {
		var f listen.Filter
		for j := range 10 {
			f.ResourceSubscriptions = append(f.ResourceSubscriptions, fmt.Sprintf("file:///srv/%d/%d", i, j))
		}
		s := open(t, h, fmt.Sprint(i), f, &counter{})
		drain(t, s, time.Now())
		all = append(all, s)
	}
	during := heap() - before
	for _, s := range all {
		s.Cancel()
	}
	if after := heap(); after > before+during/10 {
		t.Errorf("%d bytes before, %d more with the streams, %d bytes after", before, during, after)
	}
	runtime.KeepAlive(h)
}
