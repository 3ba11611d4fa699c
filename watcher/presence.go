package watcher

import (
	"context"
	"time"
)

// rootEvery is the time between checks that the root is still the directory that is watched.
const rootEvery = 2 * time.Second

// presence is what the user was last told of the root.
type presence uint8

const (
	present presence = iota
	absent
	barred // there, but not to be opened
)

// rootCheck asks what no event tells: whether an ancestor was moved or shut, or something new is at the root's path.
func (l *loop) rootCheck(ctx context.Context) {
	s, err := l.tree.stat("")
	there := err == nil && s.dir
	n := l.tree.dirs.byPath[""]
	changed := there
	switch {
	case n == nil:
	case n.left: // whether it can be watched, if it can be read, is for the slow scans to find
		changed = missing("", s, err) || n.shut && l.tree.accessible("")
	default:
		changed = !there || s.id != n.id || n.shut && l.tree.accessible("")
	}
	if changed {
		l.pump.merge("", Structure)
		l.rootChanged = true
	} else {
		l.tellPresence(ctx)
	}
}

// tellPresence says what has become of the root since it was last asked.
func (l *loop) tellPresence(ctx context.Context) {
	if ctx.Err() != nil {
		return // a walk that was cut short says nothing of the root
	}
	now := present
	switch n := l.tree.dirs.byPath[""]; {
	case n == nil:
		now = absent
	case n.shut && l.tree.barred != nil:
		now = barred
	}
	if now == l.presence {
		return
	}
	l.presence = now
	switch now {
	case present:
		l.voice.ends(rootBack)
	case absent:
		l.voice.begins(rootGone, nil)
	case barred:
		l.voice.begins(rootBarred, withCure(l.tree.barred))
	}
}
