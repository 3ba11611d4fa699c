package resources

import "strings"

// cause says which kind of rule decided about a path.
type cause uint8

const (
	shown    cause = iota // no rule speaks of it
	included              // a pattern of Include matches it or a directory above it
	unhidden              // one of Unhide does
	opened                // a hidden directory below which one of Unhide may
	walked                // a directory below which one of Include may

	// what follows hides
	dotName    // a segment starts with a dot
	credential // a name under which secrets are kept
	ignored    // a line of an ignore file
	excluded   // a pattern of Exclude
	unmatched  // no pattern of Include matches
	elsewhere  // it is a root of its own
	unknown    // an ignore file cannot be read now
)

// verdict is the decision about one path and the rule that made it, so that it can be explained.
type verdict struct {
	by   cause
	rule *rule  // the line, for ignored
	glob *Glob  // the pattern, if one decided
	at   string // the shortest path the decision covers; what lies below it shares it
}

func (v verdict) hidden() bool { return v.by > walked }

// or returns v, or another verdict if no rule made v.
func (v verdict) or(other verdict) verdict {
	if v.by == shown {
		return other
	}
	return v
}

// verdictOn judges the entry name of the directory dir, which is itself visible. It is the one visibility rule: for
// the list, reads, watches, and changes.
func verdictOn(in *scope, dir, name string, isDir bool) verdict {
	if in == nil || in.sel == nil {
		return in.byDefault(dir, name, isDir)
	}
	v, _ := in.choose(join(dir, name), isDir)
	return v
}

// verdict is verdictOn for the entry rel.
func (s *scope) verdict(rel string, isDir bool) (v verdict) {
	if s == nil || s.sel == nil {
		dir, name := split(rel)
		return s.byDefault(dir, name, isDir)
	}
	v, _ = s.choose(rel, isDir)
	return v
}

// byDefault is verdictOn for what no selection speaks of.
func (s *scope) byDefault(dir, name string, isDir bool) verdict {
	switch {
	case strings.HasPrefix(name, ".") && !s.showsDots():
		return verdict{by: dotName, at: join(dir, name)}
	case secretName(name) != "":
		return verdict{by: credential, at: join(dir, name)}
	case s != nil && s.unsure:
		return verdict{by: unknown, at: dir}
	}
	if r := s.match(dir, name, isDir); r != nil && !r.negated {
		return verdict{by: ignored, rule: r, at: join(dir, name)}
	}
	return verdict{}
}

func (s *scope) showsDots() bool { return s != nil && s.sel != nil && s.sel.dots }

// byName judges a whole path by its names alone, whatever ignore files say. s is an outermost scope.
func (s *scope) byName(rel string, isDir bool) verdict {
	for i := 0; i < len(rel); i++ {
		if rel[i] == '/' {
			if v := s.verdict(rel[:i], true); v.hidden() {
				return v
			}
			s = s.own(rel[:i], noRules, nil)
		}
	}
	return s.verdict(rel, isDir)
}

// neverShown reports whether rel is hidden by its names alone, whatever is there.
func (r *Root) neverShown(rel string) bool {
	return rel != "" && r.outermost.byName(rel, false).hidden() && r.outermost.byName(rel, true).hidden()
}

// offLimits reports whether no link may lead to the file rel. Links are held to the rule for credentials, unless that is
// overridden there, to what is excluded, and to no other.
func (r *Root) offLimits(rel string) bool { return r.targets.byName(rel, false).hidden() }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// split cuts rel into its directory and its last segment.
func split(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/')
	if i < 0 {
		return "", rel
	}
	return rel[:i], rel[i+1:]
}
