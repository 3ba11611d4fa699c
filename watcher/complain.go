package watcher

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"
)

// Why a directory that can be opened is not watched.
var (
	errTwice    = errors.New("mounted at two paths")
	errUnsteady = errors.New("the file system gives one directory several identities")
)

// permissionCure is what to do about a directory that belongs to somebody else.
const permissionCure = "let the user that runs the server list and search it"

// complain logs one line for each condition, however many directories it concerns, until all can be watched again. What
// directories on the move can look like as well is not a condition before a slow scan finds it too.
func (t *tree) complain(path string, err error) {
	c := condition(err)
	if path == "" && errors.Is(err, fs.ErrPermission) {
		return // see presence
	}
	if t.said[c] || !t.slowly && (c == errTwice || c == errUnsteady) {
		return
	}
	t.said[c] = true
	if c == errTwice {
		t.voice.begins(twiceBegins, nil, "first", t.root.abs(path))
		return
	}
	t.voice.begins(unwatchedBegins, withCure(err), "first", t.root.abs(path), "watched", len(t.dirs.byID))
}

// tellClosed says when there begin to be directories that permissions close, and when none is left. While the root is one of
// them that is said instead, see presence.
func (t *tree) tellClosed() {
	closed := len(t.dirs.closed) > 0
	if t.barred != nil || closed == t.closed {
		return
	}
	t.closed = closed
	if !closed {
		t.voice.ends(closedEnds)
		return
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(t.dirs.closed)), func(a, b *node) int { return cmp.Compare(a.path, b.path) })
	t.voice.begins(closedBegins, withCure(fs.ErrPermission), "first", t.root.abs(first.path))
}

// withCure adds to an error for want of open files or permissions what to do about it.
func withCure(err error) error {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %s", err, filesCure)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s", err, permissionCure)
	}
	return err
}

// condition is what err has in common with those of other paths, nil if that is not known.
func condition(err error) error {
	for _, c := range []error{errTwice, errUnsteady} {
		if errors.Is(err, c) {
			return c
		}
	}
	var c syscall.Errno
	if errors.As(err, &c) {
		return c
	}
	return nil
}
