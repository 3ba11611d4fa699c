package transport

import (
	"context"
	"errors"
	"testing"
)

type workKey struct{}

// The work on a request ends as a context of [context.WithCancelCause] would, whether somebody waited for that before or not.
func TestWorkEndsForItsCause(t *testing.T) {
	for _, waited := range []bool{false, true} {
		for name, c := range map[string]struct {
			end   func(w *workContext, request context.CancelCauseFunc)
			cause error
		}{
			"stopped":                {func(w *workContext, _ context.CancelCauseFunc) { w.stop(errLeaving) }, errLeaving},
			"the request is over":    {func(_ *workContext, over context.CancelCauseFunc) { over(errReplaced) }, errReplaced},
			"stopped, and then over": {func(w *workContext, over context.CancelCauseFunc) { w.stop(errLeaving); over(errReplaced) }, errLeaving},
		} {
			request, over := context.WithCancelCause(context.WithValue(t.Context(), workKey{}, "kept"))
			w := &workContext{Context: request}
			if waited {
				select {
				case <-w.Done():
					t.Fatal("it is over")
				default:
				}
			}
			if w.Err() != nil || context.Cause(w) != nil {
				t.Errorf("%s: %v before the end", name, w.Err())
			}
			child, stop := context.WithCancel(w)
			c.end(w, over)
			for _, ctx := range []context.Context{w, child, w.made()} {
				<-ctx.Done()
				if !errors.Is(ctx.Err(), context.Canceled) || context.Cause(ctx) != c.cause {
					t.Errorf("%s: %v for %v, want %v", name, ctx.Err(), context.Cause(ctx), c.cause)
				}
				if ctx.Value(workKey{}) != "kept" {
					t.Errorf("%s: the request's values are lost", name)
				}
			}
			stop()
			over(nil)
		}
	}
}

// What nobody waits for has nothing made for it, and what was made is let go of.
func TestWorkMakesNothingUnasked(t *testing.T) {
	w := &workContext{Context: t.Context()}
	if n := testing.AllocsPerRun(100, func() {
		*w = workContext{Context: w.Context}
		_, _ = w.Err(), context.Cause(w)
		w.finish()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	child := w.made()
	w.finish()
	<-child.Done()
	<-w.Done()
}
