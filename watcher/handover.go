package watcher

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	handoverEvery = 20 * time.Second // between attempts to have natively watched what is polled for want of a watch
	handoverMost  = 256              // directories at a time, so that events need not wait
	handoverRest  = 20 * time.Millisecond
)

// handover is when directories go from the poller to the native source.
type handover struct {
	next time.Time // zero when there is nothing to try for
	left []string  // directories that this attempt has not come to
}

// later makes sure that there is an attempt.
func (h *handover) later() {
	if h.next.IsZero() {
		h.next = time.Now().Add(jitter(handoverEvery))
	}
}

// handOver tries to have natively watched what is polled for want of a watch, shallow directories first. The poller looks once
// more after the watch exists, so that no change falls between the two.
func (w *watches) handOver() {
	h := &w.handover
	h.next = time.Time{}
	if w.native == nil && w.open != nil {
		w.start()
	}
	if len(h.left) == 0 && len(w.short) > 0 && w.native != nil {
		w.full = false
		left := slices.Collect(maps.Keys(w.short))
		w.handOne(slices.MinFunc(left, byDepth))
		if !w.full { // mostly it is, and to sort 100,000 paths for nothing would hold up events for 0.1 s
			slices.SortFunc(left, byDepth)
			h.left = left
		}
	}
	for n := 0; len(h.left) > 0 && w.native != nil && !w.full && n < handoverMost; n++ {
		w.handOne(h.left[0])
		h.left = h.left[1:]
	}
	if len(h.left) > 0 && w.native != nil && !w.full {
		h.next = time.Now().Add(handoverRest)
		return
	}
	h.left = nil
	w.say.review(len(w.short) > 0 || w.native == nil, slices.Collect(maps.Values(w.remote)))
	if w.native == nil && w.open != nil || len(w.short)+len(w.remote) > 0 {
		h.later()
	}
}

func byDepth(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
}

// handOne leaves a directory with the poller when there is any error: if the directory has gone, the poller tells. One that can
// be changed from elsewhere is polled besides.
func (w *watches) handOne(path string) {
	if _, still := w.short[path]; !still || w.addNative(w.root.abs(path)) != nil {
		return
	}
	delete(w.short, path)
	if w.remote[path] == "" {
		w.poller.retire(path)
	}
}
