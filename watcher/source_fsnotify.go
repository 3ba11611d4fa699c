package watcher

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// eventBuffer is the number of events fsnotify may run ahead of the pump, so that the two need not take turns.
const eventBuffer = 256

// notifier is the operating system's notifications by way of fsnotify.
type notifier struct{ w *fsnotify.Watcher }

func newFsnotify() (source, error) {
	w, err := fsnotify.NewBufferedWatcher(eventBuffer)
	if err != nil {
		return nil, startError(err)
	}
	return &notifier{w}, nil
}

func startError(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("cannot watch: %w: %s", err, instanceCure)
	}
	return fmt.Errorf("cannot watch: %w", err)
}

func (n *notifier) Add(dir string) error { return addError(n.w.Add(dir)) }

func addError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%w (%v): %s", errLimit, err, watchCure)
	}
	return err
}

// Remove swallows the error, which only says that the watch was gone, and a nil dereference: when Add meets a directory
// that was swapped in and is watched under another path, fsnotify 1.10.1 keeps an entry without a watch.
func (n *notifier) Remove(dir string) {
	defer func() { _ = recover() }()
	_ = n.w.Remove(dir)
}

func (n *notifier) List() []string                { return n.w.WatchList() }
func (n *notifier) Events() <-chan fsnotify.Event { return n.w.Events }
func (n *notifier) Errors() <-chan error          { return n.w.Errors }
func (n *notifier) Close() error                  { return n.w.Close() }

// Lossy is false for EINVAL, with which the kernel answers when fsnotify removes the watch of a directory that was moved and
// is gone by now. Reading never fails with it: the buffer is larger than any event.
func (n *notifier) Lossy(err error) bool { return !errors.Is(err, syscall.EINVAL) }
