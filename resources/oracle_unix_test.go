//go:build unix

package resources

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// What follows says what is served as the rules are told to people: path by path, by the disk alone.

// shows reports whether the flags and the ignore files below root show what is at rel.
func (f flags) shows(root, rel string, isDir bool) bool {
	return f.covered(f.include, rel, isDir, true) && f.opens(rel, isDir, func(rel string, isDir bool) bool {
		return !f.hidden && strings.HasPrefix(path.Base(rel), ".") || strings.HasSuffix(rel, ".pem") ||
			!f.noIgnore && ignoredIn(root, filepath.Join(root, rel), isDir)
	})
}

// leads reports whether a link may lead to the file rel.
func (f flags) leads(rel string) bool {
	return f.opens(rel, false, func(rel string, _ bool) bool { return strings.HasSuffix(rel, ".pem") })
}

// opens knows all rules but those of include. hidden are the rules that unhide overrides, for one name.
func (f flags) opens(rel string, isDir bool, hidden func(rel string, isDir bool) bool) bool {
	if f.exclude != "" && f.covered(f.exclude, rel, isDir, false) {
		return false
	}
	closed := false
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		p, pIsDir := rel[:i], i < len(rel) || isDir
		for _, w := range strings.Fields(f.without) {
			if p == w {
				return false
			}
		}
		if f.unhide != "" && f.covered(f.unhide, p, pIsDir, false) {
			closed = false
			continue
		}
		if closed = closed || hidden(p, pIsDir); closed {
			leads := false
			for _, g := range strings.Fields(f.unhide) {
				leads = leads || strings.Contains(strings.TrimSuffix(g, "/"), "/") && mayHold(g, p)
			}
			if !pIsDir || !leads {
				return false
			}
		}
	}
	return true
}

// covered reports whether one of the patterns matches rel or a directory above it, or no pattern is there; with ways, also
// whether rel is a directory below which one may match.
func (f flags) covered(patterns, rel string, isDir, ways bool) bool {
	for _, g := range strings.Fields(patterns) {
		for i := 0; i <= len(rel); i++ {
			if (i == len(rel) || rel[i] == '/') && globMatches(g, rel[:i], isDir || i < len(rel)) {
				return true
			}
		}
		if ways && isDir && (!strings.Contains(strings.TrimSuffix(g, "/"), "/") || mayHold(g, rel)) {
			return true
		}
	}
	return patterns == ""
}

// globMatches knows the patterns of the vocabulary, which have no class and no braces.
func globMatches(g, rel string, isDir bool) bool {
	g, dirOnly := strings.CutSuffix(g, "/")
	if dirOnly && !isDir {
		return false
	}
	if !strings.Contains(g, "/") {
		return matchSegments([]string{g}, []string{path.Base(rel)})
	}
	return matchSegments(strings.Split(strings.TrimPrefix(g, "/"), "/"), strings.Split(rel, "/"))
}

func matchSegments(g, p []string) bool {
	switch {
	case len(g) == 0:
		return len(p) == 0
	case g[0] == "**" && len(g) == 1:
		return len(p) > 0
	case g[0] == "**":
		return matchSegments(g[1:], p) || len(p) > 0 && matchSegments(g, p[1:])
	case len(p) == 0:
		return false
	}
	ok, _ := path.Match(g[0], p[0])
	return ok && matchSegments(g[1:], p[1:])
}

func mayHold(g, dir string) bool {
	want, have := strings.Split(strings.Trim(g, "/"), "/"), strings.Split(dir, "/")
	for i, seg := range want {
		if seg == "**" || i == len(have) {
			return true
		}
		if ok, _ := path.Match(seg, have[i]); !ok {
			return false
		}
	}
	return false
}

// randomFlags are made for the names that the storms use.
func randomFlags(r *rand.Rand) (f flags) {
	some := func(most int, from ...string) string {
		r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		return strings.Join(from[:r.IntN(most+1)], " ")
	}
	if r.IntN(3) == 0 {
		f.include = some(3, "*", "a", "*.log", "d/**", "d/e/", "d/*", "f", "/l", "d/**/a", ".h", "/d/", "**/k", "?/?")
	}
	f.exclude = some(2, "b", "*.log", "d/e", "/a", "d/**/a", "out/", "f/*", "**/c", ".h", "d/.h/", "/.v2")
	f.unhide = some(3, ".h", ".h/**", ".h/a", "s.pem", "d/s.pem", "out/a", "out/*/", "d/out/e/", ".v1/**/x", "d/.h/a", "x.log", "d/x.log", "/d", "f/e/**", "s.pem/a")
	f.without = some(1, "d/e", "f", "d/f", ".v1", "d")
	f.hidden, f.noIgnore = r.IntN(4) == 0, r.IntN(4) == 0
	return f
}

func (p *place) shot() map[string]seen {
	out, err := shotOf(p.dir, p.flags)
	p.must(err)
	return out
}

// shotOf walks the disk by other means than the package does.
func shotOf(dir string, f flags) (map[string]seen, error) {
	out := map[string]seen{}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	return out, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || e.IsDir() || !f.shows(root, rel, false) {
			return err
		}
		real := path
		if e.Type() == fs.ModeSymlink {
			if real, err = filepath.EvalSymlinks(path); err != nil || !strings.HasPrefix(real, root+"/") || !f.leads(real[len(root)+1:]) {
				return nil
			}
		}
		fi, err := os.Stat(real)
		if err != nil || !fi.Mode().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(real)
		if err != nil {
			return err
		}
		st := fi.Sys().(*syscall.Stat_t)
		out[rel] = seen{st.Ino, uint64(st.Nlink), fi.Size(), fi.ModTime(), string(data), real}
		return nil
	})
}

// ignoredIn knows the few kinds of lines that the storms write. It is asked of every directory above first.
func ignoredIn(root, path string, isDir bool) bool {
	base := filepath.Base(path)
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		text, _ := os.ReadFile(dir + "/.gitignore")
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			name, dirOnly := strings.CutSuffix(line, "/")
			suffix, open := strings.CutPrefix(name, "*")
			if name != "" && (!dirOnly || isDir) && (name == base || open && strings.HasSuffix(base, suffix)) {
				return true
			}
		}
		if dir == root {
			return false
		}
	}
}
