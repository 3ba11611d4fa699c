package watcher

import (
	"log/slog"
	"slices"
)

// notices say once why directories are polled, what follows from it and what to do about it, and once that it is over.
type notices struct {
	log *slog.Logger
	dir string

	short  bool            // that native watches, or a native source, could not be had was said
	remote map[string]bool // types of remote file systems that were told of
}

// found is how long it takes to find a change by looking.
const found = "changes are found within 5 s, after a quiet time within 30 s, in subscribed files within half a second"

func (n *notices) asked() { n.log.Info("polling, as asked: "+found, "dir", n.dir) }

func (n *notices) unsupported() {
	n.log.Info("polling, since the notifications of this system are not used: "+found, "dir", n.dir)
}

func (n *notices) noSource(err error) {
	if !n.short {
		n.short = true
		n.log.Warn("the system gives no notifications, so all directories are polled: "+found, "err", err, "dir", n.dir)
	}
}

func (n *notices) limit(err error, first string, watched int) {
	if !n.short {
		n.short = true
		n.log.Warn("not every directory can be watched, so the others are polled: "+found, "err", err, "first", first, "watched", watched)
	}
}

func (n *notices) remoteType(kind, first string) {
	if n.remote[kind] {
		return
	}
	if n.remote == nil {
		n.remote = map[string]bool{}
	}
	n.remote[kind] = true
	n.log.Warn("directories on a file system that can be changed from elsewhere are polled: "+found, "type", kind, "first", first)
}

// review ends the conditions that are over.
func (n *notices) review(short bool, remote []string) {
	if n.short && !short {
		n.short = false
		n.log.Info("every directory can be watched again", "dir", n.dir)
	}
	for kind := range n.remote {
		if !slices.Contains(remote, kind) {
			delete(n.remote, kind)
			n.log.Info("no directory is on a file system that can be changed from elsewhere any more", "type", kind, "dir", n.dir)
		}
	}
}
