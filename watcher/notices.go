package watcher

import "slices"

// notices say once why directories are polled, what follows from it and what to do about it, and once that it is over.
type notices struct {
	voice    *voice
	shortage *Shortage

	short  bool            // native watches, or a native source, could not be had: this one is in the shortage
	remote map[string]bool // types of remote file systems that were told of
}

func (n *notices) asked() { n.voice.ends(pollingAsked) }

func (n *notices) unsupported() {
	n.voice.ends(pollingHere)
}

func (n *notices) noSource(err error, root string) {
	n.begins(sourceFails, err, "first", root)
}

func (n *notices) limit(err error, first string, watched func() []string) {
	n.begins(watchesFail, err, "first", first, "watched", len(watched()))
}

// begins tells of a shortage, unless another has.
func (n *notices) begins(m message, err error, args ...any) {
	switch {
	case n.short:
		return
	case n.shortage.join():
		n.voice.begins(m, err, args...)
	default:
		n.voice.suffers(m, err)
	}
	n.short = true
}

// leave is for who watches no more.
func (n *notices) leave() {
	if n.short {
		n.short = false
		n.shortage.leave()
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
		if n.shortage.leave() {
			n.voice.ends(watchesWork)
		}
	}
	for kind := range n.remote {
		if !slices.Contains(remote, kind) {
			delete(n.remote, kind)
			n.voice.ends(remoteEnds, "type", kind)
		}
	}
}
