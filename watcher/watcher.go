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
	// before its watch is added, with the parent already let through, never for the root. Several goroutines of Run may ask
	// at once. Nil skips nothing.
	Skip func(dir string) bool

	// Poll has changes found by looking alone, without the operating system's notifications.
	Poll bool

	// Look looks at what may change without an event, at most at so many files, and goes on with the others when it is
	// asked again, about every 1.25 s, or 0.4 s while directories are polled. The paths that are not as they were are named
	// in a batch with [Attribute]. When it has looked at none there is nothing to look at, and it is asked again in 2 s. It
	// is called from a goroutine of Run and returns soon when ctx ends. Nil: nothing is looked at.
	Look func(ctx context.Context, most int) (changed []string, looked int)

	// Shortage has several watchers tell once, together, that the system grants less than they need. Nil: this one tells alone.
	Shortage *Shortage

	// Logger receives one line per condition the user should know of. Nil discards.
	Logger *slog.Logger
}

// Watcher watches one directory tree.
type Watcher struct {
	root     root
	skip     func(dir string) bool
	poll     bool
	look     func(ctx context.Context, most int) (changed []string, looked int)
	voice    *voice
	shortage *Shortage
	disk     disk
	mounts   func() mountTable      // nil where there is none
	source   func() (source, error) // an error of ErrUnsupported: there is none on this system
	dirs     *registry
	poller   *poller
	net      *net
	barrier  *barrier
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
		root:     newRoot(dir),
		skip:     opts.Skip,
		poll:     opts.Poll,
		look:     opts.Look,
		shortage: opts.Shortage,
		disk:     osDisk{},
		mounts:   openMounts,
		source:   newNative,
		dirs:     newRegistry(),
		barrier:  newBarrier(),
	}
	if w.skip == nil {
		w.skip = func(string) bool { return false }
	}
	if w.shortage == nil {
		w.shortage = &Shortage{}
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w.voice = &voice{log: log.With("dir", w.root.dir), stats: &counts{}, read: w.Stats}
	w.poller = newPoller(w.voice)
	w.net = &net{look: w.look, polls: func() bool { return w.poller.count() > 0 }, wake: make(chan struct{}, 1)}
	return w, nil
}

// Watched lists the directories in which changes are found, sorted. Any goroutine may ask.
func (w *Watcher) Watched() []string { return w.dirs.watched() }

// Polled counts those of them that are polled. Any goroutine may ask.
func (w *Watcher) Polled() int { return w.poller.count() }

// Wake says that somebody wants to know of changes: polling, which slows down while nothing changes, is at its quickest for a
// while. It returns at once. Any goroutine may call it.
func (w *Watcher) Wake() {
	if w.poller.count() > 0 {
		w.poller.ask()
		w.net.ask()
	}
}

// Run watches until ctx ends and then returns nil; any other return is an error that keeps it from watching. It calls emit
// with each batch, one at a time, and does what the Reply asks for. Run may be called once.
func (w *Watcher) Run(ctx context.Context, emit func(Batch) Reply) error {
	defer w.barrier.end()
	p := newPump(w.root, w.barrier)
	ws := newWatches(w, p)
	defer ws.close()
	mounts := newMounts(w.mounts())
	defer mounts.close() // when neither the sweep nor the loop asks any more
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	looking.Go(func() { w.poller.run(ctx) })
	w.net.pump = p
	if w.look != nil {
		looking.Go(func() { w.net.run(ctx) })
	}
	s := &sweep{
		dirs:    w.dirs,
		disk:    w.disk,
		root:    w.root,
		skip:    w.skip,
		pump:    p,
		barrier: w.barrier,
		polled:  w.poller.holds,
		mounts:  mounts,
		voice:   w.voice,
		wake:    make(chan struct{}, 1),
	}
	looking.Go(func() { s.run(ctx) })
	l := &loop{
		pump:    p,
		net:     w.net,
		sweep:   s,
		tree:    newTree(w, ws),
		emit:    emit,
		voice:   w.voice,
		barrier: w.barrier,
	}
	defer w.voice.tellStats()
	return l.run(ctx, ws.ended)
}
