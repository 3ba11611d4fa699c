package transport

import (
	"context"
	"sync"
)

// httpWork is the context of the work on an HTTP request: that of the request, which also ends by stop. What that takes is made
// when somebody waits for the end or brings it about: most requests are answered before.
type httpWork struct {
	context.Context // of the request

	mu  sync.Mutex      // guards own and end
	own context.Context // nil until it is needed
	end context.CancelCauseFunc
}

var _ context.Context = (*httpWork)(nil)

// Done implements [context.Context].
func (w *httpWork) Done() <-chan struct{} { return w.made().Done() }

// Err implements [context.Context].
func (w *httpWork) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own != nil {
		return w.own.Err()
	}
	return w.Context.Err()
}

// Value implements [context.Context]. [context.Cause] asks for what stop was told here.
func (w *httpWork) Value(key any) any {
	w.mu.Lock()
	own := w.own
	w.mu.Unlock()
	if own != nil {
		return own.Value(key)
	}
	return w.Context.Value(key)
}

// made returns the same context, which keeps nothing of the exchange: a listen may hold on to its values for days.
func (w *httpWork) made() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own == nil {
		w.own, w.end = context.WithCancelCause(w.Context)
	}
	return w.own
}

// stop ends the work for a cause.
func (w *httpWork) stop(cause error) {
	w.made()
	w.end(cause)
}

// finish lets go of what was made, once nobody works any more.
func (w *httpWork) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end(nil)
	}
}
