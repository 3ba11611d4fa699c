package watcher

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
)

// Options are the choices of a Watcher; nil is the same as the zero value.
type Options struct {
	// Skip reports whether dir and what is beneath it is of no interest: it gets no watch. It is asked for each directory
	// before its watch is added, with the parent already let through, never for the root. Nil skips nothing.
	Skip func(dir string) bool

	// Logger receives one line per condition the user should know of. Nil discards.
	Logger *slog.Logger
}

// Watcher watches one directory tree.
type Watcher struct {
	root   root
	skip   func(dir string) bool
	log    *slog.Logger
	disk   disk
	source func() (source, error)
	dirs   *registry
}

// New makes a Watcher for the tree at dir, an absolute path, which need not exist yet. It starts nothing.
func New(dir string, opts *Options) (*Watcher, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("watch %q: not an absolute path", dir)
	}
	if opts == nil {
		opts = &Options{}
	}
	w := &Watcher{
		root:   newRoot(dir),
		skip:   opts.Skip,
		log:    opts.Logger,
		disk:   osDisk{},
		source: newFsnotify,
		dirs:   newRegistry(),
	}
	if w.skip == nil {
		w.skip = func(string) bool { return false }
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	return w, nil
}

// Watched lists the directories that own a watch, sorted. Any goroutine may ask.
func (w *Watcher) Watched() []string { return w.dirs.watched() }

// Run watches until ctx ends and then returns nil; any other return is an error that keeps it from watching. It calls emit
// with each batch, one at a time, and does what the Reply asks for. Run may be called once.
func (w *Watcher) Run(ctx context.Context, emit func(Batch) Reply) error {
	src, err := w.source()
	if err != nil {
		return err
	}
	p := newPump(w.root)
	done := make(chan struct{}) // closed when the source has ended and the pump has read the last of it
	go func() {
		defer close(done)
		p.run(src)
	}()
	// The pump reads until the source is closed: fsnotify may hold its lock while it waits for a reader.
	defer func() {
		if err := src.Close(); err != nil {
			w.log.Warn("cannot close the event source", "err", err)
		}
		<-done
	}()
	l := &loop{
		pump: p,
		tree: newTree(w, src),
		emit: emit,
		log:  w.log,
	}
	return l.run(ctx, done)
}
