package storm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// round is what happened between two moments of quiet.
type round struct {
	*journal
	mood          mood
	before, after *view
	lossy         bool // events may have been lost, so that a change time that moved may mean a write
	start, end    time.Time
}

// touched reports whether what a writer did may have changed what is at p, or at a path above it.
func (r *round) touched(p string) bool {
	for _, d := range r.deeds {
		if strings.HasPrefix(d.kind, "calm") || d.kind == "chmod" {
			continue
		}
		for _, t := range d.touched {
			if below(p, t) {
				return true
			}
		}
	}
	return false
}

// moot reports whether an ignore file was written that may have spoken of p.
func (r *round) moot(p string) bool {
	for _, d := range r.deeds {
		for _, file := range d.said {
			dir := strings.TrimSuffix(strings.TrimSuffix(file, ".gitignore"), ".mcpignore")
			dir = strings.TrimSuffix(dir, "/")
			if !below(p, dir) {
				continue
			}
			for i := len(dir) + 1; i <= len(p); i++ {
				if i < len(p) && p[i] != '/' {
					continue
				}
				for _, line := range ignoreLines {
					for _, at := range append(dirsAbove(p), dir) { // the file may have come from elsewhere
						if ok, _ := speaks(at, line, p[:i], true); ok {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

func dirsAbove(p string) (dirs []string) {
	for i := range p {
		if p[i] == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return append(dirs, "")
}

// mayFile reports whether the file at p may have changed.
func (r *round) mayFile(p string) bool {
	b, was := r.before.files[p]
	a, is := r.after.files[p]
	switch {
	case was != is, was && !b.same(a), r.touched(p), r.moot(p):
		return true
	case was && (r.written[b.ino] || r.written[a.ino]):
		return true
	case r.lossy && was && a.ctime != b.ctime:
		return true
	}
	for _, v := range []*view{r.before, r.after} {
		for _, q := range v.links[p] {
			if r.touched(q) {
				return true
			}
		}
	}
	return false
}

// may reports whether what is at p or below it may have changed.
func (r *round) may(p string) bool {
	if r.mayFile(p) {
		return true
	}
	for _, d := range r.deeds {
		for _, t := range append(slices.Clone(d.touched), d.said...) {
			if t != p && below(t, p) && !slices.Contains(calm, p) {
				return true
			}
		}
	}
	for _, v := range []*view{r.before, r.after} {
		for q := range v.files {
			if q != p && below(q, p) && r.mayFile(q) {
				return true
			}
		}
		for q := range v.links {
			if q != p && below(q, p) && r.mayFile(q) {
				return true
			}
		}
	}
	return false
}

// wanted is what a read of p gives, as host.read says it; empty where that is not promised.
func wanted(h *host, v *view, p string) string {
	if e, ok := v.files[p]; ok {
		if !e.readable {
			return "error"
		}
		return "file " + e.content
	}
	if v.shut[p] {
		return ""
	}
	if names, ok := v.children[p]; ok {
		var uris []string
		for _, n := range names {
			uris = append(uris, h.uri(strings.TrimPrefix(p+"/"+n, "/")))
		}
		slices.Sort(uris)
		return "directory " + strings.Join(uris, " ")
	}
	return "error -32602"
}

func agrees(got, want string) bool {
	return want == "" || got == want || want == "error" && strings.HasPrefix(got, "error")
}

// problem says what the host does not know yet, empty if it knows all.
func (r *round) problem(h *host) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.faults) > 0 {
		return "" // it will not get better
	}
	if !h.idleLocked() {
		return "the host is busy"
	}
	var list []string
	for _, p := range r.after.list() {
		list = append(list, h.uri(p))
	}
	slices.Sort(list)
	for _, l := range h.listens {
		if l.lists {
			if got := slices.Sorted(slices.Values(l.list)); !slices.Equal(got, list) {
				return "the list: " + difference(got, list) + "\n" + r.deedsOf(r.anywhere)
			}
		}
		for _, uri := range slices.Sorted(maps.Keys(l.subs)) {
			if p := r.owed(h, l.subs[uri]); p != "" {
				return fmt.Sprintf("listen %d, %q: %s\n%s", l.id, l.subs[uri].path, p, r.story(l.subs[uri]))
			}
		}
	}
	return ""
}

func difference(got, want []string) string {
	var lines []string
	for _, g := range got {
		if !slices.Contains(want, g) {
			lines = append(lines, "\n\ttoo much "+g)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			lines = append(lines, "\n\tmissing "+w)
		}
	}
	return strings.Join(lines[:min(len(lines), 12)], "")
}

// owed says which update of a subscription is missing.
func (r *round) owed(h *host, s *sub) string {
	want := wanted(h, r.after, s.path)
	e, isFile := r.after.files[s.path]
	if isFile && s.folder {
		want, isFile = "error -32602", false // a file's URI does not end in a slash
	}
	if !agrees(s.view, want) {
		return fmt.Sprintf("is known as %.200q, want %.200q", s.view, want)
	}
	// Another root for a moment, between two looks of the server, is no change.
	if want := (glance{true, e.ino, e.size, e.mtime}); isFile && s.seen != want && r.mood != rooting {
		return fmt.Sprintf("was told of when it was %+v, is %+v", s.seen, want)
	}
	was, is := r.before.beneath(s.path), r.after.beneath(s.path)
	for p := range both(was, is) {
		b, inB := was[p]
		a, inA := is[p]
		if inA == inB && (!inA || b.same(a)) {
			continue
		}
		if s.told == 0 {
			return fmt.Sprintf("nothing is told of %q beneath it", p)
		}
		if inA && a.mtime > r.start.UnixNano() && a.mtime < r.end.UnixNano() && s.last.UnixNano() < a.mtime {
			return fmt.Sprintf("nothing is told since %q beneath it was written", p)
		}
	}
	return ""
}

func both(a, b map[string]entry) map[string]entry {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// story is all that may explain what was told of a subscription.
func (r *round) story(s *sub) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\ttold %d times, last at %v, as %+v\n", s.told, s.last.Sub(r.start), s.seen)
	fmt.Fprintf(&b, "\tbefore %+v %v\n\tafter  %+v %v\n", r.before.files[s.path], r.before.links[s.path], r.after.files[s.path], r.after.links[s.path])
	names := append(slices.Clone(r.before.links[s.path]), r.after.links[s.path]...)
	names = append(names, s.path)
	return b.String() + r.deedsOf(func(p string) bool {
		return slices.ContainsFunc(names, func(q string) bool { return below(q, p) || below(p, q) || strings.HasSuffix(p, "ignore") })
	})
}

func (r *round) anywhere(string) bool { return true }

// deedsOf are the last operations, of all that were done those at paths of which of is true.
func (r *round) deedsOf(of func(p string) bool) string {
	var b strings.Builder
	n := 0
	for _, d := range slices.Backward(r.deeds) {
		if (d.err != nil || len(r.deeds) > 60) && !slices.ContainsFunc(append(slices.Clone(d.touched), d.said...), of) {
			continue
		}
		if n++; n > 40 {
			break
		}
		fmt.Fprintf(&b, "\t%v-%v writer %d: %v: %v\n", d.start.Sub(r.start), d.end.Sub(r.start), d.writer, d.op, d.err)
	}
	return b.String()
}

// excess says what was told that did not happen, now or in the past, of which something may still have been owed.
func (r *round) excess(h *host, past []*round) (faults []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	took := time.Since(r.start)
	for _, l := range h.listens {
		most := int(took/(500*time.Millisecond)) + 2
		if r.mood == still {
			if most = 0; len(past) == 0 || slices.ContainsFunc(past, func(p *round) bool { return p.mood != still }) {
				most = 1
			}
		}
		if l.listTold > most {
			faults = append(faults, fmt.Sprintf("listen %d: list_changed %d times, want at most %d", l.id, l.listTold, most))
		}
		for _, uri := range slices.Sorted(maps.Keys(l.subs)) {
			s := l.subs[uri]
			if s.told > int(took/(50*time.Millisecond))+2 {
				faults = append(faults, fmt.Sprintf("listen %d: %q updated %d times within %v", l.id, s.path, s.told, took))
			}
			if s.told > 0 && !r.may(s.path) && !slices.ContainsFunc(past, func(p *round) bool { return p.may(s.path) }) {
				faults = append(faults, fmt.Sprintf("listen %d: %q did not change\n%s", l.id, s.path, r.story(s)))
			}
		}
	}
	return faults
}
