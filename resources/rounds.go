package resources

import (
	"context"
	"os"
	"slices"
	"strings"
)

// Keys hands out what is subscribed to, a piece at a time: it appends to dst at most n keys, and says where to go on. A
// pass begins with a negative at and ends when next is 0.
type Keys func(dst []string, at, n int) (keys []string, next int)

// Rounds looks for what changes without an event: subscribed files that are written to through a memory map or a hard link,
// subscribed names that appear where directories are polled, where links lead through directories that own no watch, and what
// readers alone have seen. One goroutine at a time may use it.
//
// A pass goes over all of that; a round of it is bounded, and the next one goes on. What is beneath subscribed directories can
// be the whole tree, so it has a tenth of each round, and passes of its own.
type Rounds struct {
	root *Root
	keys Keys

	at       int                 // where to go on among the keys, 0 when they are done
	met      []string            // directories among the keys of this pass
	unserved map[string]struct{} // what the last pass found under keys of which nothing is served
	present  map[string]struct{} // and what this one did
	links    []*unheard          // those to look at
	linked   int                 // how many of them were in this pass
	ways     uint64              // Root.ways when links was made
	tops     []string            // the directories to look beneath, sorted, none below another
	top      string              // the one that the last round ended in
	after    string              // the file in it that was the last

	piece   []string
	found   []item
	missing []string // keys of the piece of which nothing is served, as paths
	changed []string
	left    int // files that may be looked at
}

// Rounds returns what looks at the files that keys name.
func (r *Root) Rounds(keys Keys) *Rounds { return &Rounds{root: r, keys: keys} }

// Look looks at so many files, or at what there is, and returns how many it looked at, and the paths of those that are not
// as the index holds them. Whoever applies those finds out what has become of them.
func (p *Rounds) Look(ctx context.Context, most int) (changed []string, looked int) {
	select {
	case <-p.root.loaded:
	default: // what is not known yet cannot be compared
		return nil, 0
	}
	beneath := most / 10
	p.changed, p.left = p.root.ahead.ask(), most-beneath
	if p.at == 0 && p.linked >= len(p.links) {
		p.at, p.linked = -1, 0
		p.links = p.root.unheardLinks(p.links, &p.ways)
	}
	p.lookAtKeys(ctx)
	p.lookAtLinks(ctx)
	looked = most - beneath - p.left
	p.left = beneath
	p.lookBeneath(ctx)
	return p.changed, looked + beneath - p.left
}

func (p *Rounds) lookAtKeys(ctx context.Context) {
	const piece = 256
	for p.at != 0 && p.left > 0 && ctx.Err() == nil {
		p.piece, p.at = p.keys(p.piece[:0], p.at, min(piece, p.left))
		for _, it := range p.find() {
			p.lookAt(it)
		}
		for _, rel := range p.missing {
			p.lookFor(rel)
		}
		if p.at == 0 {
			p.unserved, p.present = p.present, nil
			slices.Sort(p.met)
			p.tops, p.met = topmost(p.met), nil
		}
	}
}

// find returns the files that the keys of a piece name, and notes the directories, and what is missing.
func (p *Rounds) find() []item {
	p.found, p.missing = p.found[:0], p.missing[:0]
	p.root.mu.RLock()
	defer p.root.mu.RUnlock()
	for _, key := range p.piece {
		rel, ok := p.root.base.relOf(key)
		if !ok {
			continue
		}
		d, name := p.root.tree.descend(rel)
		if name == "" {
			p.met = append(p.met, rel)
		} else if f := d.file(name); f != nil {
			dir, _ := split(rel)
			p.found = append(p.found, item{dir, f})
		} else {
			p.missing = append(p.missing, rel)
		}
	}
	return p.found
}

// topmost drops what lies below another path of the sorted list.
func topmost(paths []string) (top []string) {
	above := make(map[string]bool, len(paths))
next:
	for _, p := range paths {
		for up := p; up != "" && len(above) > 0; {
			if up, _ = split(up); above[up] {
				continue next
			}
		}
		above[p] = true
		top = append(top, p)
	}
	return slices.Compact(top)
}

func (p *Rounds) lookAt(it item) {
	p.left--
	if it.file.stat.Load() == nil { // nothing to compare with: what is there now is what the next round goes by
		in := folder{root: p.root, rel: it.dir}
		p.root.take(&in, it.file, it.file.name)
		in.close()
		return
	}
	if rel := join(it.dir, it.file.name); p.root.strayed(rel, it.file) {
		p.changed = append(p.changed, rel)
	}
}

// lookFor looks whether there is something at rel, where nothing is served. Whoever applies that may find that it is hidden: it is
// named once, then.
func (p *Rounds) lookFor(rel string) {
	p.left--
	if _, err := os.Lstat(p.root.host(rel)); err != nil {
		return
	}
	if p.present == nil {
		p.present = map[string]struct{}{}
	}
	p.present[rel] = struct{}{}
	if _, known := p.unserved[rel]; !known {
		p.changed = append(p.changed, rel)
	}
}

// strayed reports whether the file f at rel is not as the index holds it. Where rel leads is not made certain, since nothing
// is told but that a look at it, which does make certain, is worth while.
func (r *Root) strayed(rel string, f *file) bool {
	was := f.stat.Load()
	if was == nil {
		return false
	}
	now, err := r.glance(rel, was.link)
	if err != nil {
		return false
	}
	return now == nil || !now.unchanged(was) || now.ctime != was.ctime || now.ctimeNano != was.ctimeNano
}

// glance returns the state of the file at rel, or where the link there leads, nil for none. It is quick while all is well, and
// looks as Apply does if not: a path may be too long for one call, and what Apply finds as it was would be suspected for ever.
func (r *Root) glance(rel string, link bool) (*stat, error) {
	look := os.Lstat
	if link { // it led to a file inside the root when it was last followed
		look = os.Stat
	}
	fi, err := look(r.host(rel))
	switch {
	case err == nil && fi.Mode().IsRegular():
		return newStat(fi, r.who), nil
	case err == nil:
		return nil, nil
	case link:
		to, err := r.resolve(rel)
		return to.stat, err
	}
	fi, k, err := r.lstat(rel)
	if err != nil || k != regular {
		return nil, err
	}
	return newStat(fi, r.who), nil
}

func (p *Rounds) lookAtLinks(ctx context.Context) {
	for ; p.at == 0 && p.linked < len(p.links) && p.left > 0 && ctx.Err() == nil; p.linked++ {
		p.left--
		if l := p.links[p.linked]; p.root.astray(l) {
			p.changed = append(p.changed, l.rel)
		}
	}
}

// lookBeneath goes on where the last round ended, over what is beneath the subscribed directories.
func (p *Rounds) lookBeneath(ctx context.Context) {
	i, found := slices.BinarySearch(p.tops, p.top)
	if !found {
		p.after = ""
	}
	turns := len(p.tops)
	if turns > 0 && p.after != "" {
		turns++ // the beginning of the first one comes last
	}
	for ; turns > 0 && p.left > 0 && ctx.Err() == nil; turns-- {
		p.top = p.tops[i%len(p.tops)]
		files := p.root.beneath(p.top, p.after, p.left)
		for _, part := range files {
			for _, f := range part.files {
				p.lookAt(item{part.dir, f})
			}
		}
		if p.left == 0 {
			p.after = strings.TrimPrefix(files[len(files)-1].last(), p.top+"/")
			return
		}
		p.after = ""
		i++
	}
}

// beneath returns the first n files below the directory top that follow the path after, relative to it.
func (r *Root) beneath(top, after string, n int) []run {
	r.mu.RLock()
	defer r.mu.RUnlock()
	d, rest := r.tree.descend(top)
	if rest != "" {
		return nil
	}
	c := collector{left: n}
	c.walk(d, top, after)
	return c.runs
}
