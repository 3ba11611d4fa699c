package resources

import "context"

// baseline takes the state of the file rel, or of all below the directory rel, where it is not known yet, so that a
// touch or a rescan can be told from no change. It waits for Load only for a directory.
func (r *Root) baseline(ctx context.Context, rel string) {
	r.mu.RLock()
	d, rest := r.tree.descend(rel)
	loaded := d.loaded
	var f *file
	if rest != "" {
		f = d.file(rest)
	}
	r.mu.RUnlock()
	switch {
	case rest == "":
		r.baselineBelow(ctx, rel)
	case f != nil:
		dir, name := split(rel)
		in := folder{root: r, rel: dir}
		defer in.close()
		r.take(&in, f, name)
	case !loaded:
		r.baselineEarly(ctx, rel)
	}
}

// take reads the state of a file that the index holds, of the name in the directory in.
func (r *Root) take(in *folder, f *file, name string) *stat {
	if s := f.stat.Load(); s != nil {
		return s
	}
	fi, k, err := in.lstat(name)
	if err != nil || k != regular {
		return nil
	}
	s := newStat(fi, r.who)
	r.twins.note(join(in.rel, name), f, s) // before Apply can see s, which forgets the name when it replaces s
	f.stat.CompareAndSwap(nil, s)
	now := f.stat.Load()
	if f.gone.Load() || now.link || !now.sameFile(s) {
		r.twins.forget(f, s)
	}
	return now
}

// baselineEarly takes what is at rel now, which Load compares with what it finds.
func (r *Root) baselineEarly(ctx context.Context, rel string) {
	s, isDir := r.lookEarly(rel)
	if isDir {
		r.baselineBelow(ctx, rel)
		return
	}
	r.mu.Lock()
	ended := r.early == nil
	if _, known := r.early[rel]; !known && !ended {
		r.early[rel] = s
		if d, rest := r.tree.descend(rel); s.isFile() {
			if f := d.file(rest); f != nil {
				f.stat.CompareAndSwap(nil, s)
			}
		}
	}
	r.mu.Unlock()
	if ended { // while this looked, so that nothing will be compared with it; but now the index tells
		r.baseline(ctx, rel)
	}
}

// unseen stands for what could not be looked at: it differs from all that there may be.
var unseen = &stat{}

// isFile: s is the state of a regular file.
func (s *stat) isFile() bool { return s != nil && s != unseen && !s.link }

// lookEarly returns the state of what would be served at rel, nil for nothing.
func (r *Root) lookEarly(rel string) (s *stat, isDir bool) {
	fi, k, err := r.lstat(rel)
	switch {
	case err != nil:
		return unseen, false
	case k == nothing:
		return nil, false
	}
	switch v := r.judge(rel, k == directory); {
	case v.by == unknown:
		return unseen, false
	case v.hidden():
		return nil, false
	case k == directory:
		return nil, true
	case k == symlink:
		to, err := r.resolve(rel)
		if err != nil {
			return unseen, false
		}
		return to.stat, false
	}
	return newStat(fi, r.who), false
}

// baselineBelow waits until the subtree is known and takes the state of every file in it.
func (r *Root) baselineBelow(ctx context.Context, rel string) {
	var d *dir
	err := r.await(ctx, func() bool {
		var rest string
		d, rest = r.tree.descend(rel)
		if rest != "" {
			return d.loaded // and then it is not there
		}
		return d.whole()
	})
	if err != nil || d.path() != rel {
		return
	}
	var unknown []item
	var collect func(d *dir, path string)
	collect = func(d *dir, path string) {
		for f := range d.files.all() {
			if f.stat.Load() == nil {
				unknown = append(unknown, item{path, f})
			}
		}
		for sub := range d.dirs.all() {
			collect(sub, join(path, sub.name))
		}
	}
	r.mu.RLock()
	collect(d, rel)
	r.mu.RUnlock()
	in := folder{root: r}
	defer in.close()
	for _, u := range unknown {
		if ctx.Err() != nil {
			return
		}
		in.move(u.dir)
		r.take(&in, u.file, u.file.name)
	}
}

// whole reports whether d and all below it are loaded.
func (d *dir) whole() bool {
	if !d.loaded {
		return false
	}
	// Load goes in order, so the last directories are the last to be known
	n := d.dirs.len()
	return n == 0 || d.dirs.at(n-1).whole()
}
