package transport

import (
	"context"
	"sync"
)

// workContext is the context of the work on a request: that of all work on its pipe, or of the HTTP request, which also ends by
// stop. What that takes is made when somebody waits for the end or brings it about: most requests are answered before.
type workContext struct {
	context.Context // that it ends with

	mu  sync.Mutex      // guards own and end
	own context.Context // nil until it is needed
	end context.CancelCauseFunc
}

var _ context.Context = (*workContext)(nil)

// Done implements [context.Context].
func (w *workContext) Done() <-chan struct{} { return w.made().Done() }

// Err implements [context.Context].
func (w *workContext) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own != nil {
		return w.own.Err()
	}
	return w.Context.Err()
}

// Value implements [context.Context]. [context.Cause] asks for what stop was told here.
func (w *workContext) Value(key any) any {
	w.mu.Lock()
	own := w.own
	w.mu.Unlock()
	if own != nil {
		return own.Value(key)
	}
	return w.Context.Value(key)
}

// made returns the same context, which keeps nothing of the request: a listen may hold on to its values for days.
func (w *workContext) made() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own == nil {
		w.own, w.end = context.WithCancelCause(w.Context)
	}
	return w.own
}

// stop ends the work for a cause, [context.Canceled] if that is nil.
func (w *workContext) stop(cause error) {
	w.made()
	w.end(cause)
}

// finish lets go of what was made, once nobody works any more.
func (w *workContext) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end(nil)
	}
}
