package watcher

import (
	"slices"
	"strings"
)

// Evidence says what kind of event named a path; several kinds may be merged.
type Evidence uint8

const (
	Content   Evidence = 1 << iota // created or written
	Structure                      // removed, or renamed away
	Attribute                      // mode, owner, times or extended attributes

	// Settled is not of an event: this is a second look at the path, [Reply.Unsettled] or absent the first time, and 25 ms
	// have passed without anything to the contrary. What is there now, or is not, is meant to last.
	Settled

	// Names is of a directory that is polled: names in it may have come, gone, or both, and what is new is to be looked at with
	// all that is beneath. Beneath the directories that were known, nothing follows.
	Names

	// Created is with Content if something was created at the path, or moved there. A file that has other names is no other
	// than it was for that, and what was written to the path may have been another file.
	Created
)

// Dirty is a path that may have changed.
type Dirty struct {
	Path     string // relative to the root, slash-separated, "" for the root
	Evidence Evidence
}

// Batch is what may have changed in one settle window. Both lists are sorted and free of duplicates.
type Batch struct {
	Dirty  []Dirty
	Rescan []string // paths at or below which anything may have changed; none lies below another
}

// Reply is what the consumer of a batch answers. Paths come in any order, and some may lie below others.
type Reply struct {
	// Rewalk are directories at and below which Options.Skip may answer differently now. Those let through are watched and
	// then in Rescan, those skipped lose their watches.
	Rewalk []string

	// Retry are paths, of files or directories, that could not be looked at for a reason that passes, such as a lack of file
	// descriptors. They are in Rescan again after 1 s; twice as long, up to 30 s, each time they come back.
	Retry []string

	// Unsettled are names that came or went without [Settled] evidence. Each is named once more, with it, when 25 ms have
	// gone by. Editors make names for a moment and take others away for a moment whenever they save; a consumer that waits
	// for the second look before it counts a name as new or gone sees none of that.
	Unsettled []string
}

// draft is the batch under construction.
type draft struct {
	dirty  map[string]Evidence
	rescan []string
}

func (d *draft) mark(path string, e Evidence) {
	if d.dirty == nil {
		d.dirty = map[string]Evidence{}
	}
	d.dirty[path] |= e
}

func (d *draft) finish() Batch {
	b := Batch{Rescan: topmost(d.rescan)}
	for path, e := range d.dirty {
		b.Dirty = append(b.Dirty, Dirty{path, e})
	}
	slices.SortFunc(b.Dirty, func(x, y Dirty) int { return strings.Compare(x.Path, y.Path) })
	*d = draft{}
	return b
}

// topmost drops what lies below another path of the list, and duplicates, and sorts.
func topmost(paths []string) []string {
	set := make(map[string]struct{}, len(paths))
	for _, p := range paths {
		set[p] = struct{}{}
	}
	top := make([]string, 0, len(set))
next:
	for p := range set {
		for up := p; up != ""; {
			up = parent(up)
			if _, ok := set[up]; ok {
				continue next
			}
		}
		top = append(top, p)
	}
	slices.Sort(top)
	return top
}
