package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// blockedWriter says when it was first written to, and takes nothing before it is released.
type blockedWriter struct{ came, released chan struct{} }

func (w blockedWriter) Write([]byte) (int, error) {
	close(w.came)
	<-w.released
	return 0, io.ErrClosedPipe
}

func TestInterruptedListIsAnErrorAlsoIfNobodyReadsIt(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
	out := blockedWriter{make(chan struct{}), make(chan struct{})}
	defer close(out.released)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-out.came
		interrupt()
	}()
	err := list(ctx, serving(dir), newPathList, out, slog.New(slog.DiscardHandler))
	if err == nil || err.Error() != "interrupted before the list was complete" {
		t.Errorf("%v", err)
	}
	if err := list(ctx, serving(dir), newPathList, io.Discard, slog.New(slog.DiscardHandler)); err == nil || err.Error() != "interrupted before the list was complete" {
		t.Errorf("interrupted from the start: %v", err)
	}
}
