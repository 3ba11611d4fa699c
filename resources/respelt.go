package resources

import "strings"

// readings returns what uri can mean. Besides what its spelling says (base.parse) that is what the index has under a name
// in which some escapes are escapes and some are to the letter: VS Code decodes a path and then escapes spaces and the like
// again, but no per cent sign, so that it writes "a%20%41" for a file called "a %41". Such a URI means nothing before Load has
// come to the file: who has it has seen the file on the list.
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
	if !more {
		if found := d.files.respell(seg); len(found) > 0 {
			return found[0].name, true
		}
	}
	for _, sub := range d.dirs.respell(seg) {
		if !more {
			return sub.name, true
		}
		if rel, ok := sub.respelt(after); ok {
			return join(sub.name, rel), true
		}
	}
	return "", false
}

// respells reports whether seg is name with some bytes escaped.
func respells(seg, name string) bool {
	return len(respellings(0, 1, func(int) string { return name }, 0, seg)) > 0
}

// respell finds the entries whose names seg is a spelling of.
func (r *roll[E]) respell(seg string) (found []E) {
	for _, i := range respellings(0, r.len(), func(i int) string { return r.at(i).called() }, 0, seg) {
		found = append(found, r.at(i))
	}
	return found
}

// respellings returns the numbers, from lo on and before hi, of those in a sorted list that have a name that goes on, after n
// bytes that are the same in all, as seg with some escapes decoded. An escape that a name has itself is taken to the letter, so
// that each name is looked at in one way and clients, who choose seg, cannot make this slow.
func respellings(lo, hi int, nameOf func(i int) string, n int, seg string) (found []int) {
	plain := 0
	for plain < len(seg) && !isEscape(seg[plain:]) {
		plain++
	}
	rest := func(i int) string { return nameOf(i)[n:] }
	lo, hi = spread(lo, hi, rest, spanOf(seg[:plain]))
	n, seg = n+plain, seg[plain:]
	switch {
	case lo == hi:
		return nil
	case seg == "" && len(nameOf(lo)) == n: // the shortest comes first
		return []int{lo}
	case seg == "":
		return nil
	}
	escaped, after := seg[:len("%XX")], seg[len("%XX"):]
	i, j := spread(lo, hi, rest, spanOf(escaped))
	found = respellings(i, j, nameOf, n+len(escaped), after)
	for _, others := range [][2]int{{lo, i}, {j, hi}} {
		i, j := spread(others[0], others[1], rest, spanOf(unescape(escaped)))
		found = append(found, respellings(i, j, nameOf, n+1, after)...)
	}
	return found
}
