package watcher

import "strings"

// mirror names what the batch names of a directory under its other paths too, if it is mounted at several: it can be watched
// under one of them only.
func (l *loop) mirror() {
	dirs := l.tree.dirs
	for twin := range dirs.twins {
		watched := dirs.byID[twin.id]
		if watched == nil {
			continue
		}
		var also []Dirty // a directory may be mounted below itself, so what is added must not be looked at here
		for path, e := range l.batch.dirty {
			if path, ok := moved(path, watched.path, twin.path); ok {
				also = append(also, Dirty{path, e})
			}
		}
		for _, d := range also {
			l.batch.mark(d.Path, d.Evidence)
		}
		for _, path := range l.batch.rescan {
			if path, ok := moved(path, watched.path, twin.path); ok {
				l.batch.rescan = append(l.batch.rescan, path)
			}
		}
	}
}

// moved returns what path, at or below from, is called if from is called to.
func moved(path, from, to string) (string, bool) {
	if path == from {
		return to, true
	}
	if !below(path, from) {
		return "", false
	}
	return to + "/" + strings.TrimPrefix(path[len(from):], "/"), true
}
