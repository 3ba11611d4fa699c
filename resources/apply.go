package resources

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// Change is what a batch did to the catalogue.
type Change struct {
	// Keys are the canonical URIs of what appeared, disappeared or has another content or modification time, sorted. A
	// directory's ends in "/"; it is here when the directory appears or disappears.
	Keys []string
	List bool // the set of listed URIs differs
}

// Apply brings the index up to date with the disk where b says that it may differ, and returns what changed. The evidence
// is a hint; the disk is the truth. Content evidence makes a file changed even if its size and time are equal. The reply
// names the directories where Skip may answer differently now, and what could not be looked at for a passing reason.
func (r *Root) Apply(b watcher.Batch) (Change, watcher.Reply) {
	r.writer.Lock()
	defer r.writer.Unlock()
	if err := r.load(context.Background()); err != nil {
		panic("a load without a deadline failed: " + err.Error())
	}
	a := &apply{root: r, hints: hintsOf(b)}
	a.payDebts()
	if a.hints.evidence != 0 || a.hints.rescan {
		r.refresh()
	}
	a.visit(r.tree, "", a.hints)
	a.commit()
	a.followTwins()
	a.followLinks()
	a.commit()
	a.correctReads()
	a.ignoreFiles()
	return a.change(), a.reply()
}

// apply is one batch at work. It reads the index without Root.mu, since only its own commits replace anything there.
type apply struct {
	root    *Root
	hints   *hint
	keys    map[string]struct{} // paths of files
	folders map[string]struct{} // paths of directories that appeared or disappeared
	listed  map[string]int      // paths: +1 listed now and not before, -1 the other way round
	rewalk  []string
	retry   []string
	moment  map[string]struct{} // paths: names that came or went, and may do so for a moment only
	commits []commit
	twins   []twin
	errands map[*link]errand
}

// commit is what becomes of one directory.
type commit struct {
	dir   *dir
	files roll[*file]
	dirs  roll[*dir]
	in    *scope
}

// commit makes the changes visible, all at once.
func (a *apply) commit() {
	a.root.mu.Lock()
	defer a.root.mu.Unlock()
	for _, c := range a.commits {
		c.dir.files, c.dir.dirs, c.dir.in = c.files, c.dirs, c.in
	}
	a.commits = nil
	a.root.applied++
	a.root.scopes = nil
}

func (a *apply) commitEdit(d *dir, e *edit) {
	if len(e.files)+len(e.dirs) > 0 {
		a.commits = append(a.commits, commit{d, d.files.with(e.files), d.dirs.with(e.dirs), d.in})
	}
}

func (a *apply) change() (c Change) {
	if n := len(a.keys) + len(a.folders); n > 0 {
		c.Keys = make([]string, 0, n)
		for rel := range a.keys {
			c.Keys = append(c.Keys, a.root.base.key(rel))
		}
		for rel := range a.folders {
			c.Keys = append(c.Keys, a.root.base.key(rel)+"/")
		}
		slices.Sort(c.Keys)
	}
	for _, n := range a.listed {
		c.List = c.List || n != 0
	}
	return c
}

func (a *apply) key(rel string) { a.keys = setOf(a.keys, rel) }

func (a *apply) folder(rel string) {
	a.folders = setOf(a.folders, rel)
	a.root.ways.Add(1)
}

// tally counts how often rel is listed.
func (a *apply) tally(rel string, by int) {
	if a.listed == nil {
		a.listed = make(map[string]int)
	}
	a.listed[rel] += by
	a.key(rel)
}

// ignoreFiles has the watcher walk again wherever an ignore file was written, even if it says now what the index knew: it
// may have said something else in between, and Skip may have gone by that.
func (a *apply) ignoreFiles() {
	if a.root.noIgnore {
		return
	}
	a.hints.each("", func(rel string, h *hint) {
		for _, name := range ignoreNames {
			if h.saysOf(name, watcher.Content|watcher.Structure) {
				a.rewalk = append(a.rewalk, rel)
			}
		}
	})
}

// visit follows the hints below a directory that the index holds.
func (a *apply) visit(d *dir, path string, h *hint) {
	if h.rescan || h.evidence&(watcher.Content|watcher.Structure) != 0 || a.unread(d, path, h) ||
		h.evidence != 0 && a.readableNow(d, path) == d.closed {
		a.relist(d, path, h, a.root.above(d), true)
		return
	}
	if h.evidence&watcher.Names != 0 {
		a.relistNames(d, path, h)
		return
	}
	if h.sub[ignoreNames[0]] != nil || h.sub[ignoreNames[1]] != nil {
		if a.rulesDiffer(d, path, h) {
			a.relist(d, path, h, a.root.above(d), false)
			return
		}
	}
	var e edit
	for _, name := range h.names() {
		a.child(d, path, name, h.sub[name], &e)
	}
	a.commitEdit(d, &e)
}

// unread reports whether h tells of something in a directory that could not be listed, and that nobody will name again.
func (a *apply) unread(d *dir, path string, h *hint) bool {
	if !d.unseen() || len(h.sub) == 0 {
		return false
	}
	_, owed := a.root.owed.again[path]
	return !owed
}

// above returns the scope in force in the parent of d.
func (r *Root) above(d *dir) *scope {
	if d.parent == nil {
		return r.outermost
	}
	return d.parent.in
}

func (a *apply) readableNow(d *dir, path string) bool {
	_, err := a.root.readDir(path, 1)
	if err != nil && passing(err) {
		a.postpone(path, &hint{}, err)
		return !d.closed
	}
	return !errors.Is(err, fs.ErrPermission)
}

func (a *apply) rulesDiffer(d *dir, path string, h *hint) bool {
	found, err := a.root.readIgnore(path)
	if err != nil {
		for _, name := range ignoreNames {
			if sub := h.sub[name]; sub != nil {
				a.postpone(join(path, name), sub, err)
			}
		}
		return false
	}
	return a.root.above(d).own(path, a.rules(d, path, found, h), d.in) != d.in
}

// rules returns the text of the ignore files of d. One that is away keeps its rules until the second look: it may be away
// for a moment only, and what it hides must not be shown for that.
func (a *apply) rules(d *dir, path string, found ignoreFiles, h *hint) rawRules {
	for i, was := range d.in.rawOf(path) {
		if name := ignoreNames[i]; was != "" && found.absent[i] && a.unsettled(join(path, name), h.sub[name]) {
			found.raw[i] = was
		}
	}
	return found.raw
}

// child follows the hint for one name of a directory.
func (a *apply) child(d *dir, path, name string, h *hint, e *edit) {
	rel := join(path, name)
	sub := d.dir(name)
	if sub != nil && h.evidence == 0 && !h.rescan {
		a.visit(sub, rel, h)
		return
	}
	if verdictOn(d.in, path, name, true).hidden() && verdictOn(d.in, path, name, false).hidden() {
		a.hidden(rel, h)
		return
	}
	fi, k, err := a.root.lstat(rel)
	if err != nil {
		a.postpone(rel, h, err)
		return
	}
	if k != nothing && verdictOn(d.in, path, name, k == directory).hidden() {
		a.hidden(rel, h)
		k = nothing
	} else if a.momentary(d, rel, name, k, fi, h) {
		return
	}
	if sub != nil && k == directory {
		a.visit(sub, rel, h)
		return
	}
	a.put(d, d.in, rel, name, k, fi, h, e)
}

// momentary reports whether a name came or went just now, so that it counts only if a second look finds the same: nearly all
// editors make a name for a moment when they save, and many take the file's own away. What comes and goes beyond 256 in a
// batch is no save, and counts at once.
func (a *apply) momentary(d *dir, rel, name string, k kind, fi fs.FileInfo, h *hint) bool {
	const most = 256
	known := d.file(name) != nil || d.dir(name) != nil
	comes, goes := k == regular && !known, k == nothing && known
	if !comes && !goes || len(a.moment) >= most || !a.unsettled(rel, h) {
		return false
	}
	if comes { // a write through it counts for the names that are served
		a.twinsOf(nil, newStat(fi, a.root.who), madeOf(h.evidence))
	}
	return true
}

// unsettled asks for the second look at rel, unless h is that.
func (a *apply) unsettled(rel string, h *hint) bool {
	if h != nil && h.evidence&watcher.Settled != 0 {
		return false
	}
	a.moment = setOf(a.moment, rel)
	return true
}

// hidden takes note of evidence for a name that is not served: a served file may be another hard link to its inode.
func (a *apply) hidden(rel string, h *hint) {
	if h.evidence == 0 {
		return
	}
	fi, k, err := a.root.lstat(rel)
	if err != nil {
		a.postpone(rel, h, err)
	}
	if k == regular {
		a.twinsOf(nil, newStat(fi, a.root.who), writtenOf(h.evidence))
	}
}
