package resources

import "path"

// Selection says what is served besides and instead of the defaults: nothing is whose name starts with a dot, is a
// credential's, or is excluded by a .gitignore or .mcpignore file. The zero value, and nil, is the defaults. A pattern that
// matches a directory covers all that is in it.
type Selection struct {
	// Include, unless it is empty, has only those files served that one of its patterns matches. What is hidden stays so.
	Include []*Glob
	// Exclude hides what one of its patterns matches, whatever else is said. No link leads there either.
	Exclude []*Glob
	// Unhide serves what one of its patterns, from ParseUnhide, matches although a default hides it. A hidden directory
	// that a match may lie in is shown, with nothing in it but that.
	Unhide []*Glob
	// Hidden serves names that start with a dot. Credentials such as .env stay hidden.
	Hidden bool
	// NoIgnore leaves ignore files unread, so that they hide nothing.
	NoIgnore bool
}

// selection is a Selection in force, with what belongs to other roots.
type selection struct {
	include, exclude, unhide globs
	without                  map[string]bool
	dots                     bool
}

// outermost returns the scopes above a root: for its paths, and for those that its links lead to. The first is nil if there is
// nothing but the defaults to go by.
func (s *Selection) outermost(without []string) (own, targets *scope) {
	if s == nil {
		s = &Selection{}
	}
	elsewhere := make(map[string]bool, len(without))
	for _, dir := range without {
		elsewhere[path.Clean(dir)] = true
	}
	// A link may lead into a dot directory (ConfigMaps are made like that) and is included by its own name.
	targets = &scope{sel: &selection{exclude: s.Exclude, unhide: s.Unhide, without: elsewhere, dots: true}}
	if len(s.Include)+len(s.Exclude)+len(s.Unhide)+len(elsewhere) == 0 && !s.Hidden {
		return nil, targets
	}
	return &scope{sel: &selection{s.Include, s.Exclude, s.Unhide, elsewhere, s.Hidden}}, targets
}

// standing is how a directory stands to a selection, as far as that matters below it. The zero value is that of a directory
// that no pattern speaks of.
type standing struct {
	unhidden verdict // which pattern unhides the directory, or one above it, and so all below
	included verdict // the same of those that include
	closed   verdict // what hides it, if it is open only for what a pattern may unhide below
}

// choose judges the entry rel of a directory by the selection, and by the defaults where that leaves it to them. It returns also
// how the entry stands to what is below it, if it is a directory.
func (s *scope) choose(rel string, isDir bool) (verdict, standing) {
	sel, now := s.sel, s.standing
	dir, name := split(rel)
	base, whole := subject{text: name}, subject{text: rel}
	if sel.without[rel] {
		return verdict{by: elsewhere, at: rel}, now
	}
	if g := sel.exclude.match(&base, &whole, isDir); g != nil {
		return verdict{by: excluded, glob: g, at: rel}, now
	}
	v, now := s.uncover(now, &base, &whole, dir, isDir)
	if v.hidden() || len(sel.include) == 0 || now.included.glob != nil {
		return v.or(now.included), now
	}
	if g := sel.include.match(&base, &whole, isDir); g != nil {
		now.included = verdict{by: included, glob: g, at: rel}
		return v.or(now.included), now
	}
	if g := sel.include.below(rel, true); isDir && g != nil {
		return v.or(verdict{by: walked, glob: g, at: rel}), now
	}
	return verdict{by: unmatched, at: rel}, now
}

// uncover judges by the defaults and by what overrides them.
func (s *scope) uncover(now standing, base, whole *subject, dir string, isDir bool) (verdict, standing) {
	if now.unhidden.glob != nil {
		return now.unhidden, now
	}
	if g := s.sel.unhide.match(base, whole, isDir); g != nil {
		now.unhidden = verdict{by: unhidden, glob: g, at: whole.text}
		return now.unhidden, now
	}
	if !now.closed.hidden() {
		now.closed = s.byDefault(dir, base.text, isDir)
	}
	if !now.closed.hidden() {
		return verdict{}, now
	}
	if g := s.sel.unhide.below(whole.text, false); isDir && g != nil {
		return verdict{by: opened, glob: g, at: whole.text}, now
	}
	return now.closed, now
}
