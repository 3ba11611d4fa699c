package resources

import (
	"errors"
	"maps"
	"slices"
	"syscall"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// debts is what the next Apply has to tell or to do. The holder of Root.writer owns it.
type debts struct {
	keys    map[string]struct{} // paths of files that changed between a baseline and Load
	folders map[string]struct{} // paths where directories are, and none was
	look    []string            // paths whose state was taken before Load came to them
	rewalk  []string
	retry   []string                    // what Load could not look at
	again   map[string]watcher.Evidence // what could not be looked at, and what had been said of it
}

// postpone has rel looked at again, once the watcher names it or a directory above it for that. Nothing of what h says is
// lost meanwhile, but that it was a second look.
func (r *Root) postpone(rel string, h *hint, err error) {
	if r.owed.again == nil {
		r.owed.again = make(map[string]watcher.Evidence)
	}
	h.each(rel, func(p string, h *hint) {
		if p == rel || h.evidence != 0 {
			r.owed.again[p] |= h.evidence &^ watcher.Settled
		}
	})
	if r.grumbled {
		return
	}
	r.grumbled = true
	args := []any{"path", rel, "reason", reason(err)}
	if noDescriptors(err) {
		args = append(args, "cure", "raise the limit of open files, see ulimit -n")
	}
	r.log.Warn("what the disk holds cannot be looked at now, and will be again in a moment", args...)
}

func noDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (a *apply) postpone(rel string, h *hint, err error) {
	a.root.postpone(rel, h, err)
	a.retry = append(a.retry, rel)
}

// payDebts adds to the batch what it has to do besides.
func (a *apply) payDebts() {
	owed := &a.root.owed
	for rel, ev := range owed.again {
		if a.hints.covers(rel) {
			h := a.hints.at(rel)
			h.evidence |= ev
			h.rescan = true
			delete(owed.again, rel)
		}
	}
	for _, rel := range owed.retry {
		if _, still := owed.again[rel]; still {
			a.retry = append(a.retry, rel)
		}
	}
	for _, rel := range owed.look {
		a.hints.at(rel).rescan = true
	}
	a.keys, a.folders, a.rewalk = owed.keys, owed.folders, owed.rewalk
	owed.keys, owed.folders, owed.look, owed.rewalk, owed.retry = nil, nil, nil, nil, nil
}

func (a *apply) reply() watcher.Reply {
	const most = 1024 // paths to try again; more are everything
	r := a.root
	r.mu.Lock()
	if r.forgotten {
		r.forgotten = false
		a.rewalk = append(a.rewalk, "")
	}
	r.mu.Unlock()
	r.grumbled = r.grumbled && len(r.owed.again) > 0
	slices.Sort(a.rewalk)
	slices.Sort(a.retry)
	out := watcher.Reply{
		Rewalk:    slices.Compact(a.rewalk),
		Retry:     slices.Compact(a.retry),
		Unsettled: slices.Sorted(maps.Keys(a.moment)),
	}
	if len(out.Retry) > most {
		out.Retry = []string{""}
	}
	return out
}

// compareEarly finds what differs, now that Load has ended, from what Baseline found before. A file's state is left to
// the next batch, which may say that the file was merely touched.
func (r *Root) compareEarly() {
	for rel, was := range r.early {
		d, rest := r.tree.descend(rel)
		f := d.file(rest)
		now := &stat{} // as of a regular file
		if f != nil && d.links[rest] != nil {
			now = f.stat.Load()
		}
		switch {
		case rest == "":
			r.owed.folders = setOf(r.owed.folders, rel)
			if was != nil { // it was a file
				r.owed.keys = setOf(r.owed.keys, rel)
			}
		case f == nil && was == nil:
		case f == nil, was == nil, was == unseen, now.link != was.link, now.link && !now.unchanged(was):
			r.owed.keys = setOf(r.owed.keys, rel)
		case !now.link:
			r.owed.look = append(r.owed.look, rel)
		}
	}
}

func setOf(set map[string]struct{}, rel string) map[string]struct{} {
	if set == nil {
		set = make(map[string]struct{})
	}
	set[rel] = struct{}{}
	return set
}
