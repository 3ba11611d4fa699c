package resources

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// matches judges path by one ignore file at the root, as git would: the segments from the root down.
func ignoredBy(root *scope, path string, isDir bool) bool {
	dir := ""
	for {
		seg, _, more := strings.Cut(strings.TrimPrefix(path[len(dir):], "/"), "/")
		if r := root.match(dir, seg, more || isDir); r != nil && !r.negated {
			return true
		}
		if !more {
			return false
		}
		dir = join(dir, seg)
	}
}

func TestIgnoreRules(t *testing.T) {
	for _, c := range []struct {
		file    string
		ignored string // space separated; a trailing slash is a directory
		kept    string
	}{
		{"*.log", "a.log d/a.log .log", "a.logs log"},
		{"/a", "a", "d/a"},
		{"d/a", "d/a", "a e/d/a"},
		{"a/", "a/ d/a/ a/b", "a d/a"},
		{"a/**", "a/b a/b/c", "a/ a"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "b x/a/b"},
		{"**/b", "b a/b a/x/b", "ab"},
		{"a**b/c", "axb/c ab/c", "a/b/c"},
		{"{a,b}", "{a,b}", "a b"},
		{"[a-c]x", "ax cx", "dx"},
		{"[!a-c]x", "dx", "ax"},
		{"[^a-c]x", "dx ^x", "ax"},
		{"[]a]x", "]x ax", "bx"},
		{"[!]a]x", "bx", "]x ax"},
		{"[a-]x", "ax -x", "bx"},
		{"[-a]x", "ax -x", "bx"},
		{"[a-zA-Z_]", "q Q _", "1"},
		{"[[:alpha:]]x", "ax Zx", "1x"},
		{"[[:foo:]]x", "", "ax [x"},
		{"[z-a]x", "zx", "ax mx"},
		{"[a", "", "a [a"},
		{"a\\", "", "a a\\"},
		{"a[!b]c/d", "axc/d", "a/c/d"},
		{"?.md", "a.md", "ab.md é.md"},
		{"??.md", "ab.md é.md", "a.md"},
		{"\\#a", "#a", "a"},
		{"#a", "", "#a a"},
		{"\\!a", "!a", "a"},
		{"a  ", "a", ""},
		{"a\\ ", "a\\", "a"}, // rewritten below: "a " holds a space
		{"\ufeffa\r\nb\r\n", "a b", ""},
		{"*.md\n!keep.md", "a.md", "keep.md"},
		{"d/\n!d/keep.md", "d/keep.md", "keep.md"},
		{"*\n!*/\n!*.go", "a.c d/a.c", "a.go d/a.go d/"},
		{"\n \n/\n!\n", "", "a"},
		{"a\x00b", "a", "b"},
	} {
		s := (*scope)(nil).own("", rawRules{c.file, ""}, nil)
		for _, p := range strings.Fields(c.ignored) {
			p = strings.ReplaceAll(p, "\\", map[bool]string{true: " ", false: "\\"}[c.file == "a\\ "])
			if path, isDir := strings.CutSuffix(p, "/"); !ignoredBy(s, path, isDir) {
				t.Errorf("%q does not ignore %q", c.file, p)
			}
		}
		for _, p := range strings.Fields(c.kept) {
			if path, isDir := strings.CutSuffix(p, "/"); ignoredBy(s, path, isDir) {
				t.Errorf("%q ignores %q", c.file, p)
			}
		}
	}
}

// quirk: git strips the literal prefix first, so that "x**" is judged as "**".
var quirk = regexp.MustCompile(`(^|[/\n])[^/\n]*[^/\n*][^/\n]*\*\*|\*\*[^/\n*]`)

// oraclePaths exist in the tree that git judges.
var oraclePaths = []string{
	"a", "b", "c/", "c/a", "c/b", "c/d/", "c/d/a", "c/d/x.md", "a.md", "ab", "abc", "-", "]", "[", "!a", "#a", "a b", "A", "_", "1",
	"d/", "d/a", "d/-x", "d/e/", "d/e/f/", "d/e/f/a", "d/e/f/]x", "é", "\xff", "{a,b}", "^", "x", "z", "xy/", "xy/z", "a\\b", "a ",
	"deep/", "deep/a/", "deep/a/b/", "deep/a/b/c",
}

// gitOracle lays out oraclePaths and returns what tells which of them git ignores.
func gitOracle(f *testing.F) (ignored func(*testing.T) []string, dir string) {
	git, err := exec.LookPath("git")
	if err != nil {
		f.Fatal("the oracle for ignore patterns is git:", err)
	}
	dir = f.TempDir()
	f.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	f.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
		f.Fatalf("git init: %v %s", err, out)
	}
	for _, p := range oraclePaths {
		full := filepath.Join(dir, p)
		if strings.HasSuffix(p, "/") {
			err = os.MkdirAll(full, 0o755)
		} else {
			err = os.WriteFile(full, nil, 0o644)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	return func(t *testing.T) (out []string) {
		cmd := exec.Command(git, "-C", dir, "check-ignore", "--no-index", "-z", "--stdin")
		var in []string
		for _, p := range oraclePaths {
			in = append(in, strings.TrimSuffix(p, "/"))
		}
		cmd.Stdin = strings.NewReader(strings.Join(in, "\x00") + "\x00")
		said, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("git: %v", err)
		}
		for p := range bytes.SplitSeq(bytes.TrimSuffix(said, []byte{0}), []byte{0}) {
			out = append(out, string(p))
		}
		return out
	}, dir
}

func FuzzIgnoreAgainstGit(f *testing.F) {
	git, dir := gitOracle(f)
	for _, s := range []string{
		"*.md", "/a", "c/a", "c/", "**/a", "c/**", "c/**/a", "**", "*/", "[a-c]", "[!a-c]", "[^a]", "[]a]", "[]]", "[!]]", "[a-]", "[-a]",
		"[a-zA-Z_]", "[[:alpha:]]", "[[:punct:]]*", "[[:foo:]]", "[[:]", "[[::]]", "[z-a]", "[a", "a\\", "\\#a", "\\!a", "#a", "!a", "*\n!a",
		"c/\n!c/a", "*\n!*/\n!*.md", "a ", "a\\ ", "{a,b}", "?", "??", "\xc3?", "[\xc3\xff]", "[!\xc3]*", "**/d/**", "*/a", "c/*/a", "a\\b", "a\\\\b",
		"\ufeffa\r\nb\r", "a\x00b", "//a", "a//", "c\\/a", "**\\/a", "[!-]", "[a\\-z]", "[a-\\c]", "[--a]", "[+--]", "[\\]a]", "[a/b]", "c[/]a",
		"^", "[^]", "\\", "\\\\", "!", "/", "***/a", "***", "deep/**/c", "deep/**/**/c", "**/**", "[a-c-e]", "!!a", "*a*b*", "[[a]", "[[:digit:]-z]",
	} {
		f.Add(s, "")
	}
	f.Add("*.md", "!*.md")
	f.Add("a", "!a")
	f.Add("/c/a", "/a")
	f.Fuzz(func(t *testing.T, outer, inner string) {
		if len(outer)+len(inner) > 200 || quirk.MatchString(outer+"\n"+inner) {
			return
		}
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(".gitignore", outer)
		write("c/.gitignore", inner)
		want := git(t)
		root := (*scope)(nil).own("", rawRules{outer, ""}, nil)
		sub := root.own("c", rawRules{inner, ""}, nil)
		for _, p := range oraclePaths {
			path, isDir := strings.CutSuffix(p, "/")
			s := root
			got := ignoredBy(root, path, isDir)
			if rest, ok := strings.CutPrefix(path, "c/"); ok {
				s = sub
				if r := root.match("", "c", true); r == nil || r.negated {
					got = false
					for i := range strings.SplitAfter(rest, "/") {
						seg := strings.Split(rest, "/")
						d := join("c", strings.Join(seg[:i], "/"))
						d = strings.TrimSuffix(d, "/")
						if r := s.match(d, seg[i], i < len(seg)-1 || isDir); r != nil && !r.negated {
							got = true
							break
						}
					}
				}
			}
			if got != slices.Contains(want, path) {
				t.Errorf(".gitignore %q, c/.gitignore %q: %q ignored %v, git says %v", outer, inner, p, got, !got)
			}
		}
	})
}
