package resources

import "strings"

// Skip reports whether the directory dir, a path below the root, is hidden, so that it needs no watch. If an answer turns
// out to be another one later, the Reply of an Apply says so.
func (r *Root) Skip(dir string) bool {
	r.mu.RLock()
	_, rest := r.tree.descend(dir)
	r.mu.RUnlock()
	if rest == "" {
		return false
	}
	v := r.judgePath(dir, true, true)
	return v.hidden() && v.by != unknown
}

// judge decides about a whole path, segment by segment: what lies below a hidden directory is hidden.
func (r *Root) judge(rel string, isDir bool) verdict { return r.judgePath(rel, isDir, false) }

// judgePath is judge; with answers, what it goes by is kept until the index knows better.
func (r *Root) judgePath(rel string, isDir, answers bool) verdict {
	parent, name := split(rel)
	r.mu.RLock()
	d, rest := r.tree.descend(parent)
	in, known := d.in, d.knowsRules() && !d.unseen
	if !known && d.loaded {
		in = r.above(d)
	}
	r.mu.RUnlock()
	at := strings.TrimSuffix(strings.TrimSuffix(parent, rest), "/")
	ok := true
	if !known {
		if in, ok = r.scopeOf(at, in, answers); !ok {
			return verdict{by: unknown, at: at}
		}
	}
	for rest != "" {
		var seg string
		seg, rest, _ = strings.Cut(rest, "/")
		if v := verdictOn(in, at, seg, true); v.hidden() {
			return v
		}
		at = join(at, seg)
		if in, ok = r.scopeOf(at, in, answers); !ok {
			return verdict{by: unknown, at: at}
		}
	}
	return verdictOn(in, at, name, isDir)
}

// scopeOf returns the scope of a directory that the index does not know yet, below that of its parent.
func (r *Root) scopeOf(rel string, parent *scope, answers bool) (s *scope, ok bool) {
	const most = 4096 // enough for a walk that comes back to each directory's siblings
	r.mu.RLock()
	d, _ := r.tree.descend(rel)
	unseen := d.unseen // it may come at any moment, and its rules with it
	s, ok = r.scopes[rel]
	was, answered := r.answered[rel]
	seen := r.applied
	r.mu.RUnlock()
	if ok && !unseen && (s == parent || s != nil && s.dir == rel && s.parent == parent) && (!answers || answered && was == s) {
		return s, true
	}
	found, err := r.readIgnore(rel)
	if s = parent.own(rel, found.raw, nil); err != nil {
		s = nobodyKnows
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, rest := r.tree.descend(rel); rest == "" && d.knowsRules() && !d.unseen {
		return d.in, true
	}
	if answers {
		r.answer(rel, s)
	}
	if err != nil {
		return nil, false
	}
	if r.applied == seen && !unseen {
		if r.scopes == nil || len(r.scopes) >= most {
			r.scopes = make(map[string]*scope)
		}
		r.scopes[rel] = s
	}
	return s, true
}

// nobodyKnows stands for rules that could not be read, or that were others at each look: no directory has it.
var nobodyKnows = &scope{unsure: true}

// answer keeps what Skip went by. The caller holds mu.
func (r *Root) answer(rel string, s *scope) {
	const most = 1 << 16
	if r.answered == nil {
		r.answered = make(map[string]*scope)
	}
	if was, ok := r.answered[rel]; ok && !sameRules(was, s, rel) {
		s = nobodyKnows
	} else if !ok && len(r.answered) >= most {
		clear(r.answered)
		r.forgotten = true
	}
	r.answered[rel] = s
}

// learnt reports whether Skip answered by other rules than in, which are now known to be in force in rel, or may have.
// The caller holds mu.
func (r *Root) learnt(rel string, in *scope) (differs bool) {
	was, ok := r.answered[rel]
	delete(r.answered, rel)
	return ok && !sameRules(was, in, rel)
}

// sameRules compares what the ignore files of dir itself say; those above are compared where they are.
func sameRules(a, b *scope, dir string) bool {
	if a != nil && a.unsure || b != nil && b.unsure {
		return false
	}
	return a.rawOf(dir) == b.rawOf(dir)
}

func (s *scope) rawOf(dir string) (raw rawRules) {
	if s != nil && s.dir == dir {
		raw = s.raw
	}
	return raw
}
