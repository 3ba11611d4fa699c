package resources

import (
	"strings"

	"github.com/gobwas/glob"
)

// ignoreNames are the ignore files of a directory. The second counts as the continuation of the first.
var ignoreNames = [...]string{".gitignore", ".mcpignore"}

func isIgnoreName(name string) bool { return name == ignoreNames[0] || name == ignoreNames[1] }

// rawRules is the text of the ignore files of a directory.
type rawRules = [len(ignoreNames)]string

var noRules rawRules

// scope is what is in force in a directory: its own ignore files, then those of the directories above it, and the selection. A
// directory without ignore files that stands to the selection as its parent does shares the parent's scope. Immutable.
type scope struct {
	parent *scope // nil at the outermost
	dir    string // whose ignore files these are
	raw    rawRules
	rules  []rule
	unsure bool // what the ignore files say is not known

	sel      *selection // the same in all of a root; nil for the defaults
	standing standing   // of dir
}

// rule is one line of an ignore file.
type rule struct {
	file     string // path of the ignore file below the root
	line     int    // from 1
	text     string // as written; "" for what stands for a file that cannot be read
	negated  bool
	dirOnly  bool
	anchored bool          // matched against the path below its directory, not against the base name
	literal  string        // matches this and nothing else, if pattern is nil
	pattern  *glob.Pattern // see translate
}

// own returns the scope of dir, below that of its parent, when its ignore files hold raw: old again, if that is the same, so
// that equal pointers mean equal rules.
func (s *scope) own(dir string, raw rawRules, old *scope) *scope {
	if old != nil && old.parent == s && old.dir == dir && old.raw == raw && !old.unsure {
		return old
	}
	if raw == noRules && (s == nil || s.sel == nil) {
		return s
	}
	out := s.below(dir)
	out.raw = raw
	for i, text := range raw {
		if text == "" {
			continue
		}
		out.rules = append(out.rules, parseIgnore(join(dir, ignoreNames[i]), text)...)
	}
	if len(out.rules) == 0 && (s == nil || out.standing == s.standing) {
		return s
	}
	return out
}

// unread is own for a directory whose ignore files could not be read.
func (s *scope) unread(dir string, old *scope) *scope {
	if old != nil && old.parent == s && old.dir == dir && old.unsure {
		return old
	}
	out := s.below(dir)
	out.unsure = true
	return out
}

// below returns a scope for dir without rules of its own.
func (s *scope) below(dir string) *scope {
	out := &scope{parent: s, dir: dir}
	if s == nil {
		return out
	}
	out.sel, out.standing = s.sel, s.standing
	if s.sel != nil && dir != "" {
		_, out.standing = s.choose(dir, true)
	}
	return out
}

// match returns the rule that decides about the entry name of dir, nil if none speaks of it. The last match wins, and the
// deeper file over the outer one.
func (s *scope) match(dir, name string, isDir bool) *rule {
	var whole subject
	base := subject{text: name}
	for ; s != nil; s = s.parent {
		rel := ""
		for i := len(s.rules) - 1; i >= 0; i-- {
			r := &s.rules[i]
			if r.dirOnly && !isDir {
				continue
			}
			if !r.anchored {
				if base.matches(r) {
					return r
				}
				continue
			}
			if rel == "" {
				rel = join(strings.TrimPrefix(dir[len(s.dir):], "/"), name)
				whole = subject{text: rel}
			}
			if whole.matches(r) {
				return r
			}
		}
	}
	return nil
}

// subject is a text that is matched against many patterns.
type subject struct {
	text  string
	bytes string // the text with one rune for each byte; made once it is needed
}

func (s *subject) matches(r *rule) bool {
	if r.pattern == nil {
		return s.text == r.literal
	}
	if s.bytes == "" {
		s.bytes = byteRunes(s.text)
	}
	return r.pattern.Match(s.bytes)
}
