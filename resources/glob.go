package resources

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Glob is a pattern that selects paths below a root. One without a slash, but for a trailing one, matches names at any depth;
// one with a slash, or a leading one, is anchored at the root. A trailing slash means directories only; what matches a
// directory covers all below it. "**" as a whole segment, "*", "?" and classes mean what they mean to git, and {a,b} are
// alternatives. Case counts.
type Glob struct {
	text         string
	alternatives []alternative
}

// String returns the pattern as it was written.
func (g *Glob) String() string { return g.text }

// GlobError tells what is wrong with a pattern.
type GlobError struct {
	Pattern string
	At      int // byte offset of the place, at most the length of Pattern
	Reason  string
}

func (e *GlobError) Error() string {
	return fmt.Sprintf("%q: at character %d: %s", e.Pattern, utf8.RuneCountInString(e.Pattern[:e.At])+1, e.Reason)
}

// ParseGlob reads a pattern. The error is a *GlobError.
func ParseGlob(pattern string) (*Glob, error) { return parseGlob(pattern, false) }

// ParseUnhide is ParseGlob for what shows hidden things. It demands a literal first segment: a hidden directory that may hold
// a match must be walked and watched, and without it every one may.
func ParseUnhide(pattern string) (*Glob, error) { return parseGlob(pattern, true) }

func parseGlob(pattern string, literalFirst bool) (*Glob, error) {
	spellings, err := expand(pattern)
	if err != nil {
		return nil, err
	}
	g := &Glob{text: pattern}
	for _, s := range spellings {
		p := globParser{spelling: s}
		if err := p.parse(literalFirst); err != nil {
			err.Pattern = pattern
			return nil, err
		}
		g.alternatives = append(g.alternatives, p.out)
	}
	return g, nil
}

// alternative is a pattern without braces.
type alternative struct {
	rule
	segments []segment // of an anchored one
}

// segment is a pattern for one name.
type segment struct {
	rule
	deep bool // "**": any number of names
}

func (a *alternative) matches(base, whole *subject, isDir bool) bool {
	switch {
	case a.dirOnly && !isDir:
		return false
	case a.anchored:
		return whole.matches(&a.rule)
	}
	return base.matches(&a.rule)
}

// reaches reports whether an anchored alternative may match something below the directory rel.
func (a *alternative) reaches(rel string) bool {
	for _, s := range a.segments {
		if rel == "" || s.deep {
			return true
		}
		var name string
		name, rel, _ = strings.Cut(rel, "/")
		if base := (subject{text: name}); !base.matches(&s.rule) {
			return false
		}
	}
	return false // it is as deep as what the pattern matches, or deeper
}

// globs are patterns of which any may match.
type globs []*Glob

// match returns the first that matches an entry, whose name is base and whose path is whole.
func (gs globs) match(base, whole *subject, isDir bool) *Glob {
	for _, g := range gs {
		for i := range g.alternatives {
			if g.alternatives[i].matches(base, whole, isDir) {
				return g
			}
		}
	}
	return nil
}

// below returns the first that may match something below the directory rel. One without a slash may do so everywhere, if
// anywhere says so, or else is not asked.
func (gs globs) below(rel string, anywhere bool) *Glob {
	for _, g := range gs {
		for i := range g.alternatives {
			if a := &g.alternatives[i]; a.anchored && a.reaches(rel) || !a.anchored && anywhere {
				return g
			}
		}
	}
	return nil
}
