package watcher

import "slices"

// notices say once why directories are polled, what follows from it and what to do about it, and once that it is over.
type notices struct {
	voice *voice

	short  bool            // that native watches, or a native source, could not be had was said
	remote map[string]bool // types of remote file systems that were told of
}

func (n *notices) asked() { n.voice.ends(pollingAsked) }

func (n *notices) unsupported() {
	n.voice.ends(pollingHere)
}

func (n *notices) noSource(err error) {
	if !n.short {
		n.short = true
		n.voice.begins(sourceFails, err)
	}
}

func (n *notices) limit(err error, first string, watched func() []string) {
	if !n.short {
		n.short = true
		n.voice.begins(watchesFail, err, "first", first, "watched", len(watched()))
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
	n.voice.begins(remoteBegins, nil, "type", kind, "first", first)
}

// review ends the conditions that are over.
func (n *notices) review(short bool, remote []string) {
	if n.short && !short {
		n.short = false
		n.voice.ends(watchesWork)
	}
	for kind := range n.remote {
		if !slices.Contains(remote, kind) {
			delete(n.remote, kind)
			n.voice.ends(remoteEnds, "type", kind)
		}
	}
}
