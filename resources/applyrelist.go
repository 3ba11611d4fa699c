package resources

import (
	"errors"
	"io/fs"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// relist lists a directory again, and all below it. With compare, files whose state is known are looked at too; without,
// names alone count, as when ignore files changed. above is the scope in force in the parent.
func (a *apply) relist(d *dir, path string, h *hint, above *scope, compare bool) {
	a.relistTo(d, path, h, above, compare, false)
}

// relistNames lists a directory again, but not what is below those in it that were there before, and looks at no file that was.
func (a *apply) relistNames(d *dir, path string, h *hint) {
	a.relistTo(d, path, h, a.root.above(d), false, true)
}

func (a *apply) relistTo(d *dir, path string, h *hint, above *scope, compare, shallow bool) {
	entries, in, err := a.scan(d, path, h, above)
	if err != nil && passing(err) {
		a.postpone(path, h, err)
		if above == a.root.above(d) {
			return
		}
		// what the rules above hide now must go at once; the rest stays as it was
		entries, in = d.remembered(path, above)
		h, compare = &hint{}, false
	} else if closed := errors.Is(err, fs.ErrPermission); closed != d.closed {
		d.closed = closed
		a.concern(path, hint{})
	}
	if in != d.in && above == a.root.above(d) || d.unseen() && err == nil && a.learnt(path, in) {
		a.rewalk = append(a.rewalk, path)
	}
	p := relisting{apply: a, d: d, path: path, in: in, listed: err == nil, compare: compare, shallow: shallow && in == d.in, files: d.files.list(), dirs: d.dirs.list()}
	p.run(entries, h)
	a.unlisted(path, entries, h)
	if len(p.edit.files)+len(p.edit.dirs) > 0 || in != d.in {
		a.commits = append(a.commits, commit{d, d.files.with(p.edit.files), d.dirs.with(p.edit.dirs), in})
	}
}

// scan is Root.scan for a directory that the index holds: its scope is returned again if nothing has changed in it.
func (a *apply) scan(d *dir, path string, h *hint, above *scope) ([]entry, *scope, error) {
	list, found, err := a.root.readAll(path)
	if err != nil {
		return nil, above.unread(path, d.in), err
	}
	in := above.own(path, a.rules(d, path, found, h), d.in)
	return visible(list, path, in), in, nil
}

// remembered is what the index holds of d, as far as it is visible below the scope above.
func (d *dir) remembered(path string, above *scope) ([]entry, *scope) {
	in := above.own(path, d.in.rawOf(path), d.in)
	if d.unseen() {
		in = above.unread(path, d.in)
	}
	var list []entry
	for f := range d.files.all() {
		if d.links[f.name] == nil {
			list = append(list, entry{f.name, regular})
		}
	}
	for name := range d.links {
		list = append(list, entry{name, symlink})
	}
	for sub := range d.dirs.all() {
		list = append(list, entry{sub.name, directory})
	}
	return visible(list, path, in), in
}

// relisting is relist at work on one directory. files and dirs are what of the old lists is not yet passed.
type relisting struct {
	*apply
	d       *dir
	path    string
	in      *scope
	said    *hint
	listed  bool // the entries are those of the disk
	compare bool
	shallow bool // the directories in it are left alone, but for what is said of them
	files   []*file
	dirs    []*dir
	edit    edit
	folder  folder
	below   []func() // what there is to do in the directories below, which one folder open at a time suffices for
}

func (p *relisting) run(entries []entry, h *hint) {
	p.said, p.folder = h, folder{root: p.root, rel: p.path}
	for _, now := range entries {
		p.dropBefore(now.name)
		p.entry(now, h.sub[now.name])
	}
	p.dropBefore("")
	p.dropLinks(entries)
	p.folder.close()
	for _, f := range p.below {
		f()
	}
}

// dropBefore drops the old entries that come before the next name, and all if there is none: they are gone.
func (p *relisting) dropBefore(next string) {
	for len(p.files) > 0 && (next == "" || p.files[0].name < next) {
		p.drop(p.files[0].name)
		p.files = p.files[1:]
	}
	for len(p.dirs) > 0 && (next == "" || p.dirs[0].name < next) {
		p.drop(p.dirs[0].name)
		p.dirs = p.dirs[1:]
	}
}

func (p *relisting) drop(name string) {
	rel := join(p.path, name)
	h := p.said.sub[name]
	if h == nil {
		h = &hint{}
	}
	hidden := verdictOn(p.in, p.path, name, p.d.dir(name) != nil).hidden()
	if p.listed && !hidden && p.momentary(p.d, rel, name, nothing, nil, h) {
		return
	}
	p.put(p.d, p.in, rel, name, nothing, nil, h, &p.edit)
}

// dropLinks drops the links that are not among the entries, in order, but for those that may be away for a moment only.
func (p *relisting) dropLinks(entries []entry) {
	for name, l := range p.d.links {
		_, moment := p.moment[join(p.path, name)]
		if now, ok := findEntry(entries, name); !moment && (!ok || now.kind != symlink) {
			p.root.dropLink(l)
		}
	}
}

// entry makes the index hold what was just listed.
func (p *relisting) entry(now entry, said *hint) {
	isFile := len(p.files) > 0 && p.files[0].name == now.name
	isDir := len(p.dirs) > 0 && p.dirs[0].name == now.name
	if now.kind == regular && isFile && said == nil && p.d.links[now.name] == nil && !(p.compare && p.files[0].stat.Load() != nil) {
		p.files = p.files[1:]
		return
	}
	h := &hint{rescan: p.compare}
	if said != nil {
		h = &hint{said.evidence, said.rescan || p.compare, said.sub}
	}
	rel := join(p.path, now.name)
	l := p.d.links[now.name]
	switch {
	case now.kind == directory && isDir && p.shallow:
		sub := p.dirs[0]
		p.below = append(p.below, func() { p.visit(sub, rel, h) })
	case now.kind == directory && isDir:
		sub := p.dirs[0]
		p.below = append(p.below, func() {
			p.relist(sub, rel, h, p.in, h.rescan || h.evidence&(watcher.Content|watcher.Structure) != 0)
		})
	case now.kind == regular && isFile && l == nil:
		if h.evidence != 0 || h.rescan && p.files[0].stat.Load() != nil {
			p.look(rel, now, h)
		}
	case now.kind == symlink && l != nil && h.evidence == 0:
		if h.rescan {
			p.follow(l, errand{hint: hint{rescan: true}})
		}
	default:
		p.look(rel, now, h)
	}
	if isFile {
		p.files = p.files[1:]
	}
	if isDir {
		p.dirs = p.dirs[1:]
	}
}

// look puts an entry that was just listed.
func (p *relisting) look(rel string, now entry, h *hint) {
	var fi fs.FileInfo
	k := now.kind
	if k == regular {
		var err error
		if fi, k, err = p.folder.lstat(now.name); err != nil {
			p.postpone(rel, h, err)
			return
		}
		if k == directory {
			k = nothing // it became one this moment, and is judged when that is told
		}
	}
	if p.in == p.d.in && p.momentary(p.d, rel, now.name, k, fi, h) { // else it may be the rules that show it
		return
	}
	if k == directory {
		p.folder.close() // all below is walked now
	}
	p.put(p.d, p.in, rel, now.name, k, fi, h, &p.edit)
}

// unlisted takes the hints for names that are not among the entries, in order: they are hidden, or nothing.
func (a *apply) unlisted(path string, entries []entry, h *hint) {
	for _, name := range h.names() {
		if _, listed := findEntry(entries, name); !listed {
			a.hidden(join(path, name), h.sub[name])
		}
	}
}

// grow walks a directory that is new to the index. Its files are looked at at once: somebody may have subscribed to what
// did not exist yet, and will want to know of the next change.
func (a *apply) grow(parent *dir, rel, name string, above *scope, h *hint) *dir {
	a.folder(rel)
	d := &dir{name: name, parent: parent, loaded: true}
	entries, in, err := a.root.scan(rel, above)
	if err != nil && passing(err) {
		a.postpone(rel, h, err)
	}
	d.in, d.closed = in, errors.Is(err, fs.ErrPermission)
	if a.learnt(rel, in) {
		a.rewalk = append(a.rewalk, rel)
	}
	var files []*file
	var dirs []*dir
	here := folder{root: a.root, rel: rel}
	defer here.close()
	for _, now := range entries {
		p := join(rel, now.name)
		sub := h.sub[now.name]
		if sub == nil {
			sub = &hint{}
		}
		switch now.kind {
		case regular:
			if f := a.growFile(&here, p, now.name, sub); f != nil {
				files = append(files, f)
			}
		case directory:
			here.close()
			dirs = append(dirs, a.grow(d, p, now.name, in, sub))
		case symlink:
			a.follow(a.root.newLink(d, now.name), errand{renewed: true})
		}
	}
	d.files, d.dirs = rollOf(files), rollOf(dirs)
	a.unlisted(rel, entries, h)
	return d
}

func (a *apply) learnt(rel string, in *scope) bool {
	a.root.mu.Lock()
	defer a.root.mu.Unlock()
	return a.root.learnt(rel, in)
}

func (a *apply) growFile(in *folder, rel, name string, h *hint) *file {
	fi, k, err := in.lstat(name)
	if err != nil {
		a.postpone(rel, h, err)
	}
	if k != regular {
		return nil
	}
	return a.newFile(rel, name, newStat(fi, a.root.who), h.evidence)
}
