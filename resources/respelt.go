package resources

import "strings"

// readings returns what uri can mean. Besides what its spelling says (base.parse) that is what the index has under a name
// in which some escapes are escapes and some are to the letter: VS Code decodes a path and then escapes spaces and the like
// again, but no per cent sign, so that it writes "a%20%41" for a file called "a %41".
func (r *Root) readings(uri string) []reading {
	out := r.base.parse(uri)
	if len(out) == 0 || strings.IndexByte(uri, '%') < 0 {
		return out
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, rd := range out {
		if r.tree.has(rd.rel) {
			return out
		}
	}
	rest, _ := r.base.cut(uri)
	if rel, ok := r.tree.respelt(strings.TrimSuffix(rest, "/")); ok {
		out = append(out, reading{rel, out[0].dirOnly})
	}
	return out
}

// has reports whether the index knows the file or directory rel.
func (d *dir) has(rel string) bool {
	deepest, rest := d.descend(rel)
	return rest == "" || deepest.file(rest) != nil
}

// respelt finds the file or directory below d that raw is a spelling of.
func (d *dir) respelt(raw string) (rel string, ok bool) {
	seg, after, more := strings.Cut(raw, "/")
	for _, f := range d.files {
		if !more && respells(seg, f.name) {
			return f.name, true
		}
	}
	for _, sub := range d.dirs {
		if !respells(seg, sub.name) {
			continue
		}
		if !more {
			return sub.name, true
		}
		if rel, ok := sub.respelt(after); ok {
			return join(sub.name, rel), true
		}
	}
	return "", false
}

// respells reports whether seg is name with some bytes escaped. An escape that name has itself is taken to the letter.
func respells(seg, name string) bool {
	for seg != "" && name != "" {
		switch {
		case isEscape(seg) && !strings.HasPrefix(name, seg[:len("%XX")]) && unescape(seg[:len("%XX")]) == name[:1]:
			seg = seg[len("%XX"):]
		case seg[0] == name[0]:
			seg = seg[1:]
		default:
			return false
		}
		name = name[1:]
	}
	return seg == "" && name == ""
}
