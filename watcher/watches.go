package watcher

import (
	"errors"
	"sync"
)

// watches decides for each directory who finds its changes: the native source by events, the poller by looks or, where
// changes can be made without the kernel's knowledge, both. Only the goroutine of Run uses it.
type watches struct {
	root   root
	pump   *pump
	poller *poller
	say    notices
	open   func() (source, error) // of the native source; nil if there shall be none

	native  source // nil if none can be had
	reading sync.WaitGroup
	ended   chan struct{} // closed when the native source has, and the pump has read the last of it

	remoteBy map[uint64]string   // types of remote file systems, "" for local ones, by device, as this walk found them
	remote   map[string]string   // directories on remote file systems, and their types
	short    map[string]struct{} // directories that lack a native watch, for which they are polled
	full     bool                // the native source has no watch to give
	handover handover
}

func newWatches(w *Watcher, p *pump) *watches {
	w.poller.disk, w.poller.pump = w.disk, p
	ws := &watches{
		root:     w.root,
		pump:     p,
		poller:   w.poller,
		say:      notices{voice: w.voice, shortage: w.shortage},
		ended:    make(chan struct{}),
		remoteBy: map[uint64]string{},
		remote:   map[string]string{},
		short:    map[string]struct{}{},
	}
	if w.poll {
		ws.say.asked()
		return ws
	}
	ws.open = w.source
	ws.start()
	return ws
}

// start opens the native source, if there is one.
func (w *watches) start() {
	src, err := w.open()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		w.open = nil
		w.say.unsupported()
	case err != nil:
		w.say.noSource(err, w.root.dir)
		w.handover.later()
	default:
		w.native = src
		w.reading.Go(func() {
			defer close(w.ended)
			w.pump.run(src)
		})
	}
}

// close returns when the native source has ended. The pump reads until then: fsnotify may hold its lock while it waits for a
// reader.
func (w *watches) close() {
	w.say.leave()
	if w.native != nil {
		if err := w.native.Close(); err != nil {
			w.say.voice.begins(closeFailed, err)
		}
	}
	w.reading.Wait()
}

// Add has changes found in the directory at abs, which is open as f.
func (w *watches) Add(abs string, f folder) error {
	if w.full {
		return w.settleFor(abs, f, errLimit)
	}
	return w.settleFor(abs, f, w.addNative(abs))
}

// Renew makes sure that what Add began goes on.
func (w *watches) Renew(abs string, f folder) error {
	if path, _ := w.root.rel(abs); w.poller.holds(path) && w.remote[path] == "" {
		return nil
	}
	return w.settleFor(abs, f, w.addNative(abs))
}

// settleFor has the directory polled if a native watch could not be had, because of err, or does not suffice.
func (w *watches) settleFor(abs string, f folder, err error) error {
	path, _ := w.root.rel(abs)
	kind, short := w.remoteType(f), errors.Is(err, errLimit)
	if kind == "" && !short {
		return err
	}
	if kind != "" { // a native watch is for what is changed here
		w.remote[path] = kind
		w.say.remoteType(kind, abs)
		w.handover.later()
	}
	if short && w.open != nil {
		w.short[path] = struct{}{}
		w.handover.later()
	}
	return w.poller.add(path, abs, f)
}

// walk begins a walk, within which a device has one file system.
func (w *watches) walk() { clear(w.remoteBy) }

func (w *watches) remoteType(f folder) string {
	kind, known := w.remoteBy[f.id().device]
	if !known {
		kind = f.remoteType()
		w.remoteBy[f.id().device] = kind
	}
	return kind
}

func (w *watches) addNative(abs string) error {
	if w.native == nil {
		return errLimit
	}
	err := w.native.Add(abs)
	if errors.Is(err, errLimit) {
		w.native.Remove(abs)
		w.full = true
		w.say.limit(err, abs, w.native.List)
	}
	return err
}

// Remove ends what Add began. The native source may have ended its part already.
func (w *watches) Remove(abs string) {
	path, _ := w.root.rel(abs)
	if w.native != nil {
		w.native.Remove(abs)
	}
	w.poller.remove(path)
	delete(w.short, path)
	delete(w.remote, path)
}

// List names the directories in which changes are found, some of them twice.
func (w *watches) List() []string {
	dirs := w.poller.list()
	if w.native != nil {
		dirs = append(dirs, w.native.List()...)
	}
	return dirs
}
