package watcher

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
)

// Options are the choices of a Watcher; nil is the same as the zero value.
type Options struct {
	// Skip reports whether dir and what is beneath it is of no interest: it gets no watch. It is asked for each directory
	// before its watch is added, with the parent already let through, never for the root. Nil skips nothing.
	Skip func(dir string) bool

	// Look looks at what may change without an event, at most at so many files, and goes on with the others when it is
	// asked again, about every 1.25 s. The paths that are not as they were are named in a batch as [Attribute] does. When
	// it has looked at none there is nothing to look at, and it is asked again in 2 s. It is called from a goroutine of
	// Run and returns soon when ctx ends. Nil: nothing is looked at.
	Look func(ctx context.Context, most int) (changed []string, looked int)

	// Logger receives one line per condition the user should know of. Nil discards.
	Logger *slog.Logger
}

// Watcher watches one directory tree.
type Watcher struct {
	root   root
	skip   func(dir string) bool
	look   func(ctx context.Context, most int) (changed []string, looked int)
	voice  *voice
	disk   disk
	mounts func() mountTable // nil where there is none
	source func() (source, error)
	dirs   *registry

	barrier *barrier
	prober  prober // nil when nothing is watched by looking
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
		look:   opts.Look,
		disk:   osDisk{},
		mounts: openMounts,
		source: newFsnotify,
		dirs:   newRegistry(),

		barrier: newBarrier(),
	}
	if w.skip == nil {
		w.skip = func(string) bool { return false }
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w.voice = &voice{log: log.With("dir", w.root.dir), stats: &counts{}, read: w.Stats}
	return w, nil
}

// Watched lists the directories that own a watch, sorted. Any goroutine may ask.
func (w *Watcher) Watched() []string { return w.dirs.watched() }

// Run watches until ctx ends and then returns nil; any other return is an error that keeps it from watching. It calls emit
// with each batch, one at a time, and does what the Reply asks for. Run may be called once.
func (w *Watcher) Run(ctx context.Context, emit func(Batch) Reply) error {
	defer w.barrier.end()
	src, err := w.source()
	if err != nil {
		return err
	}
	p := newPump(w.root, w.barrier)
	done := make(chan struct{}) // closed when the source has ended and the pump has read the last of it
	go func() {
		defer close(done)
		p.run(src)
	}()
	// The pump reads until the source is closed: fsnotify may hold its lock while it waits for a reader.
	defer func() {
		if err := src.Close(); err != nil {
			w.voice.begins(closeFailed, err)
		}
		<-done
	}()
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	n := &net{look: w.look, pump: p, wake: make(chan struct{}, 1)}
	if w.look != nil {
		looking.Go(func() { n.run(ctx) })
	}
	s := &sweep{
		dirs:   w.dirs,
		disk:   w.disk,
		root:   w.root,
		skip:   w.skip,
		pump:   p,
		mounts: newMounts(w.mounts()),
		voice:  w.voice,
		wake:   make(chan struct{}, 1),
	}
	looking.Go(func() { s.run(ctx) })
	l := &loop{
		pump:  p,
		net:   n,
		sweep: s,
		tree:  newTree(w, src),
		emit:  emit,
		voice: w.voice,

		barrier: w.barrier,
	}
	defer w.voice.tellStats()
	return l.run(ctx, done)
}
