package resources

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// takes reports whether a pattern matches path, or a directory above it.
func (g *Glob) takes(path string, isDir bool) bool {
	for i := 0; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			_, name := split(path[:i])
			base, whole := subject{text: name}, subject{text: path[:i]}
			if (globs{g}).match(&base, &whole, isDir || i < len(path)) != nil {
				return true
			}
		}
	}
	return false
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern string
		matched string // space separated; a trailing slash is a directory
		not     string
	}{
		{"a", "a d/a a/ a/b d/a/b", "A ab d/ab"},
		{"/a", "a a/b", "d/a"},
		{"d/a", "d/a d/a/b", "a e/d/a"},
		{"a/", "a/ d/a/ a/b d/a/b", "a d/a"},
		{"/a/", "a/ a/b", "a d/a/"},
		{"*.md", "x.md d/x.md .md x.md/y", "x.mdx"},
		{"d/*", "d/a d/a/b", "d/ e/d/a"},
		{"a/**", "a/b a/b/c", "a/ a"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "b x/a/b"},
		{"**/b", "b a/b a/x/b", "ab"},
		{"a**b/c", "axb/c", "a/b/c"},
		{"**", "a a/b", ""},
		{"?.md", "a.md", "ab.md"},
		{"[a-c]x", "ax cx d/ax", "dx"},
		{"[!a-c]x", "dx", "ax"},
		{"[[:alpha:]]", "q", "1"},
		{"d/[a/b]", "d/a d/b", "d/c"},
		{"{a,b}", "a b d/a a/x", "{a,b} c"},
		{"*.{jpg,jp{e,2}g}", "x.jpg x.jpeg x.jp2g", "x.jp{e,2}g x.png"},
		{"{d/,}a", "d/a a e/a", "d/b"},
		{"{a}", "a", "{a}"},
		{`\{a,b}`, "{a,b}", "a"},
		{`{a\,b,c}`, "a,b c", "a"},
		{`\*`, "*", "a"},
		{`\!a`, "!a", "a"},
		{`\~/a`, "~/a", "a"},
		{"~*", "~a", "a"},
		{"#a", "#a", "a"},
		{"a }", "", "a"},
		{"\xff*", "\xffa", "a"},
	} {
		g, err := ParseGlob(c.pattern)
		if err != nil || g.String() != c.pattern {
			t.Errorf("%q: %v, %v", c.pattern, g, err)
			continue
		}
		for _, p := range strings.Fields(c.matched) {
			if path, isDir := strings.CutSuffix(p, "/"); !g.takes(path, isDir) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
		}
		for _, p := range strings.Fields(c.not) {
			if path, isDir := strings.CutSuffix(p, "/"); g.takes(path, isDir) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
}

func TestGlobErrors(t *testing.T) {
	for _, c := range []struct {
		pattern string
		at      int
		reason  string
	}{
		{"", 0, "nothing"},
		{"/", 0, "nothing"},
		{"{,a}", 0, "nothing"},
		{"!a", 0, "--exclude"},
		{"{a,!b}", 3, "--exclude"},
		{"~/a", 0, "not expanded"},
		{"a//b", 2, "empty"},
		{"//a", 1, "empty"},
		{"a//", 2, "empty"},
		{"./a", 0, "below"},
		{"a/../b", 2, "below"},
		{`a/\.`, 2, "below"},
		{"a\x00", 1, "NUL"},
		{"[\x00]", 1, "NUL"},
		{"ab[c", 2, "not closed"},
		{"[]", 0, "not closed"},
		{"[a/b", 0, "not closed"},
		{"a{b,c", 1, "not closed"},
		{"a[{]", 2, "not closed"},
		{"{a,{b}", 0, "not closed"},
		{"x[[:foo:]]", 2, "called foo"},
		{"d/[/]", 2, "matches nothing"},
		{`a\`, 1, "backslash"},
		{`a\/b`, 1, "slash"},
		{"x{a,b}[", 6, "not closed"},
		{strings.Repeat("{0,1,2,3,4,5,6,7,8,9}", 4), 63, "1000 alternatives"},
		{"{" + strings.Repeat(",", 1000) + "}", 0, "1000 alternatives"},
		{strings.Repeat("a", 4097), 4096, "4096 bytes"},
	} {
		_, err := ParseGlob(c.pattern)
		var bad *GlobError
		if !errors.As(err, &bad) || bad.At != c.at || bad.Pattern != c.pattern || !strings.Contains(bad.Reason, c.reason) {
			t.Errorf("%.20q: %v", c.pattern, err)
		}
	}
	if _, err := ParseGlob(strings.Repeat("{0,1,2,3,4,5,6,7,8,9}", 3)); err != nil {
		t.Errorf("1000 alternatives: %v", err)
	}
	if _, err := ParseGlob("é[a"); err == nil || !strings.Contains(err.Error(), "character 2") {
		t.Error(err)
	}
}

func TestUnhideWantsALiteralFirstSegment(t *testing.T) {
	for _, pattern := range []string{".github", ".github/**", "/.env", `\[a]/x`, "{.a,.b}/*.md", "d/*/x"} {
		if _, err := ParseUnhide(pattern); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	for _, c := range []struct {
		pattern string
		at      int
	}{{"*", 0}, {".env*", 4}, {"**/.env", 0}, {"/*/x", 1}, {"{.a,[b]/x}", 4}, {"[.]env", 0}} {
		_, err := ParseUnhide(c.pattern)
		var bad *GlobError
		if !errors.As(err, &bad) || bad.At != c.at || !strings.Contains(bad.Reason, "--unhide") {
			t.Errorf("%q: %v", c.pattern, err)
		}
	}
}

// spellOut is expand, written another way.
func spellOut(pattern string) []string {
	open := -1
	for i := 0; i < len(pattern) && open < 0; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = i
		}
	}
	if open < 0 {
		return []string{pattern}
	}
	depth, from := 0, open+1
	var choices []string
	for i := open; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			depth++
		case c == ',' && depth == 1:
			choices = append(choices, pattern[from:i])
			from = i + 1
		case c == '}' && depth == 1:
			var out []string
			for _, choice := range append(choices, pattern[from:i]) {
				for _, rest := range spellOut(choice + pattern[i+1:]) {
					out = append(out, pattern[:open]+rest)
				}
			}
			return out
		case c == '}':
			depth--
		}
	}
	return nil
}

// FuzzGlob: a pattern that is refused says where; one that is not matches what git ignores by it, and reaches into every
// directory on the way there.
func FuzzGlob(f *testing.F) {
	git, dir := gitOracle(f)
	for _, s := range []string{
		"a", "/a", "c/a", "c/", "**/a", "c/**", "c/**/a", "**", "[a-c]", "[]a]", "[^a]", "[[:alpha:]]", "[[:foo:]]", "[a", "a\\", "!a", "~/a",
		"{a,b}", "c/{a,b}", "{c/,}a", "\\{a,b}", "{a,{b,c}}/d", "{", "}", "a,b", "{a\\,b}", "a//b", "./a", "c/..", "\x00", "deep/**/c", "d/*/f/**",
		"[a/b]", "d/[e/f]", "c\\/a", "***/a", "[!]-a]*", "?", "*/*", "d/e/f/[]]x", "\xff", "/", "a ", "#a", "\\!a", "{,a}", "[{]", "[\\{]*",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		g, err := ParseGlob(pattern)
		if err != nil {
			var bad *GlobError
			if !errors.As(err, &bad) || bad.At < 0 || bad.At > len(pattern) || bad.Pattern != pattern || bad.Reason == "" || bad.Error() == "" {
				t.Fatalf("%q: %#v", pattern, err)
			}
			return
		}
		lines := spellOut(pattern)
		if len(lines) != len(g.alternatives) {
			t.Fatalf("%q: %d alternatives, want %d", pattern, len(g.alternatives), len(lines))
		}
		for _, p := range oraclePaths {
			path, isDir := strings.CutSuffix(p, "/")
			for i := range g.alternatives {
				a := &g.alternatives[i]
				_, name := split(path)
				base, whole := subject{text: name}, subject{text: path}
				if !a.anchored || !a.matches(&base, &whole, isDir) {
					continue
				}
				for j := range len(path) {
					if path[j] == '/' && !a.reaches(path[:j]) {
						t.Errorf("%q matches %q and does not reach into %q", pattern, path, path[:j])
					}
				}
			}
		}
		text := strings.Join(lines, "\n")
		if strings.Count(text, "\n") != len(lines)-1 || strings.ContainsAny(text, "\r") || strings.Contains("\n"+text, "\n\ufeff") ||
			strings.Contains(text+"\n", " \n") || len(text) > 2000 || quirk.MatchString(text) {
			return
		}
		for i, line := range lines {
			if line[0] == '#' {
				lines[i] = `\` + line
			}
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		want := git(t)
		for _, p := range oraclePaths {
			path, isDir := strings.CutSuffix(p, "/")
			if got := g.takes(path, isDir); got != slices.Contains(want, path) {
				t.Errorf("%q: %q matched %v, git says %v", pattern, p, got, !got)
			}
		}
	})
}
