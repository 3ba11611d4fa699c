package resources

import "strings"

// cause says which kind of rule decided about a path.
type cause uint8

const (
	shown      cause = iota // no rule hides it
	dotName                 // a segment starts with a dot
	credential              // a name under which secrets are kept
	ignored                 // a line of an ignore file
	unknown                 // an ignore file cannot be read now
)

// verdict is the decision about one path and the rule that made it, so that it can be explained.
type verdict struct {
	by   cause
	rule *rule  // the line, for ignored
	at   string // the shortest path the decision covers; what lies below it shares it
}

func (v verdict) hidden() bool { return v.by != shown }

// verdictOn judges the entry name of the directory dir, which is itself visible. It is the one visibility rule: for
// the list, reads, watches, and changes.
func verdictOn(in *scope, dir, name string, isDir bool) verdict {
	switch {
	case strings.HasPrefix(name, "."):
		return verdict{by: dotName, at: join(dir, name)}
	case secretName(name):
		return verdict{by: credential, at: join(dir, name)}
	}
	if r := in.match(dir, name, isDir); r != nil && !r.negated {
		return verdict{by: ignored, rule: r, at: join(dir, name)}
	}
	return verdict{}
}

// secretPath reports whether a segment of rel is a credential's name. A link's target is held to this rule too, and to no
// other: a link may lead into a dot directory (ConfigMaps are made like that), but not to a secret.
func secretPath(rel string) bool {
	for seg := range strings.SplitSeq(rel, "/") {
		if secretName(seg) {
			return true
		}
	}
	return false
}

// neverShown reports whether rel is hidden by its names alone, whatever ignore files say.
func neverShown(rel string) bool {
	return strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.") || secretPath(rel)
}

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
