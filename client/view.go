package client

import (
	"bytes"
	"slices"
	"sync"
)

// view is what is known of the server's resources. One goroutine changes it, any may look.
type view struct {
	mu       sync.Mutex // guards what follows
	list     []*Resource
	listed   map[string]*Resource
	contents map[string]*snapshot
	hidden   map[string]bool // listed, and to be told as added once they are followed
	looks    int             // how often the list was looked at
}

// snapshot is what one read of a resource gave. It does not change.
type snapshot struct {
	contents []Content
	err      error
}

func newView() *view {
	return &view{listed: map[string]*Resource{}, contents: map[string]*snapshot{}, hidden: map[string]bool{}}
}

// same reports whether nobody who has read one need read the other.
func (s *snapshot) same(o *snapshot) bool {
	if s.err != nil || o.err != nil {
		return s.err != nil && o.err != nil && s.err.Error() == o.err.Error()
	}
	return slices.EqualFunc(s.contents, o.contents, func(a, b Content) bool {
		return a.URI == b.URI && a.MIMEType == b.MIMEType && a.Text == b.Text && bytes.Equal(a.Data, b.Data)
	})
}

// setList takes the place of the list, and returns the one before. What is new to a list that is known is hidden.
func (v *view) setList(list []*Resource, known bool) (before []*Resource) {
	listed := make(map[string]*Resource, len(list))
	for _, r := range list {
		listed[r.URI] = r
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range list {
		if known && v.listed[r.URI] == nil {
			v.hidden[r.URI] = true
		}
	}
	if !known {
		clear(v.hidden)
	}
	before, v.list, v.listed = v.list, list, listed
	return before
}

func (v *view) setContents(uri string, s *snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.contents[uri] = s
}

func (v *view) dropContents(uri string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.contents, uri)
}

// retain drops the contents that are not kept any more.
func (v *view) retain(keep func(uri string) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for uri := range v.contents {
		if !keep(uri) {
			delete(v.contents, uri)
		}
	}
}

func (v *view) resource(uri string) *Resource {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.listed[uri]
}

func (v *view) snapshot(uri string) *snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.contents[uri]
}

// show has uri seen, and says how often the list was looked at before.
func (v *view) show(uri string) (looks int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.hidden, uri)
	return v.looks
}

// look notes that somebody has seen the list in another way.
func (v *view) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.looks++
}

// isHidden and hidesNone are for the goroutine that hides.
func (v *view) isHidden(uri string) bool { return v.hidden[uri] }
func (v *view) hidesNone() bool          { return len(v.hidden) == 0 }

func (v *view) resources() []Resource {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.looks++
	out := make([]Resource, 0, len(v.list))
	for _, r := range v.list {
		if !v.hidden[r.URI] {
			out = append(out, *r)
		}
	}
	return out
}

func valuesOf(list []*Resource) []Resource {
	out := make([]Resource, len(list))
	for i, r := range list {
		out[i] = *r
	}
	return out
}

// fill adds to an event what its resource holds by now.
func (v *view) fill(e *Event) {
	if e.Kind != Updated && e.Kind != Added {
		return
	}
	if s := v.snapshot(e.URI); s != nil {
		e.Contents, e.Err = s.contents, s.err
	}
}
