package watcher

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// eventBuffer is the number of events fsnotify may run ahead of the pump, so that the two need not take turns.
const eventBuffer = 256

// notifier is the operating system's notifications by way of fsnotify.
type notifier struct {
	w      *fsnotify.Watcher
	cookie *cookie // nil if none could be had
}

func newFsnotify() (source, error) {
	w, err := fsnotify.NewBufferedWatcher(eventBuffer)
	if err != nil {
		return nil, startError(err)
	}
	n := &notifier{w: w}
	_, _ = n.Cookie(false) // now, as there may be no watch left later; if there is none now it is asked for again
	return n, nil
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

// List leaves out the cookie, which is no directory.
func (n *notifier) List() []string {
	return slices.DeleteFunc(n.w.WatchList(), func(path string) bool { return n.cookie != nil && path == n.cookie.path })
}

func (n *notifier) Cookie(anew bool) (name string, err error) {
	if old := n.cookie; old == nil || anew {
		if n.cookie, err = newCookie(n.w, old); old != nil {
			_ = old.Close() // only now, so that the new one got another descriptor; nothing was written
		}
		if err != nil {
			n.cookie = nil
			return "", err
		}
	}
	return n.cookie.path, nil
}

func (n *notifier) Mark() error { return n.cookie.mark() }

func (n *notifier) Events() <-chan fsnotify.Event { return n.w.Events }
func (n *notifier) Errors() <-chan error          { return n.w.Errors }

func (n *notifier) Close() error {
	err := n.w.Close()
	if n.cookie != nil {
		err = errors.Join(err, n.cookie.Close())
	}
	return err
}

// Lossy is false for EINVAL, with which the kernel answers when fsnotify removes the watch of a directory that was moved and
// is gone by now. Reading never fails with it: the buffer is larger than any event.
func (n *notifier) Lossy(err error) bool { return !errors.Is(err, syscall.EINVAL) }
