package watcher

import (
	"path/filepath"
	"strings"
)

// mountTable is what is mounted where, as the process sees it.
type mountTable interface {
	changed() bool // since it was last asked; never waits
	list() ([]mount, error)
	close()
}

// mount is one of the mount table. Two that are equal are the same one, or one that was mounted after the other had gone.
type mount struct {
	at   string // absolute, without links
	what string // numbers and names that tell it from others at the same place
}

// mounts finds out where something was mounted or unmounted. An event tells of neither.
type mounts struct {
	table  mountTable // nil: the system has none to ask
	was    map[mount]struct{}
	unread bool // the table has changed since, and could not be read
	again  bool // the last change may not have reached the watches when they were looked at
}

func newMounts(table mountTable) *mounts {
	m := &mounts{table: table}
	if table != nil {
		table.changed() // counts from here
		m.read()
	}
	return m
}

// read returns what is mounted, as what was mounted from now on, and what was until now. An error is tried again with the next check.
func (m *mounts) read() (was, now map[mount]struct{}) {
	list, err := m.table.list()
	if m.unread = err != nil; m.unread {
		return m.was, m.was
	}
	was, m.was = m.was, setOf(list)
	return was, m.was
}

func setOf(list []mount) map[mount]struct{} {
	set := make(map[mount]struct{}, len(list))
	for _, x := range list {
		set[x] = struct{}{}
	}
	return set
}

// changed returns the paths where something was mounted or unmounted since it was last asked, in the tree at dir; that is its
// root if it was an ancestor. What was unmounted and mounted again may look the same in every respect, but its watches have
// gone: audit is set if they have to be looked at. It is set twice, as the kernel changes the table first.
func (m *mounts) changed(dir string) (paths []string, audit bool) {
	if m.table == nil {
		return nil, false
	}
	audit, m.again = m.again, false
	if !m.table.changed() && !m.unread {
		return nil, audit
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	r := newRoot(dir)
	was, now := m.read()
	for x := range now {
		path, concerned := concerns(r, x.at)
		m.again = m.again || concerned && x.at != r.top()
		if _, same := was[x]; concerned && !same {
			paths = append(paths, path)
		}
	}
	for x := range was {
		if path, concerned := concerns(r, x.at); concerned {
			if _, still := now[x]; !still {
				paths = append(paths, path)
				m.again = true
			}
		}
	}
	return topmost(paths), audit || m.again
}

// concerns returns the path in the tree below which a mount decides what is there.
func concerns(r root, at string) (path string, ok bool) {
	if path, ok := r.rel(at); ok {
		return path, true
	}
	return "", strings.HasPrefix(r.prefix, newRoot(at).prefix)
}

func (m *mounts) close() {
	if m.table != nil {
		m.table.close()
	}
}
