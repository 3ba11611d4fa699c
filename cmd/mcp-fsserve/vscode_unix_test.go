//go:build unix

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// awkward are names that need escapes, or look as if they had some. Left out are those that the rewriting below loses: a
// URL of the scheme file has slashes for backslashes and drops tabs and newlines, and takes %2e for a dot.
var awkward = []string{
	"[x].md", "a|b.md", "a^b.md", "100% done.txt", "100%.md", "a b.txt", "a%20b.txt", "é.md", "%C3%A9.md", "日本 語.md",
	`"quoted".md`, "it's.md", "{b}.md", "`tick`.md", "a;b.md", "a&b.md", "a+b.md", "~a.md", "-a.md", "--help", "a#b.md", "a?b.md",
	"a<b>.md", "a:b@c.md", "a=b,c.md", "(a)!*.md", "$HOME.md", "%41.md", "%zz.md", "%", "%%", "%2", "50%25.md", "a%2541.md", "%2Fx.md", "%00.md",
	"%E2%82.md", "\x7f.md", "\x01.md", " lead.md", "trail.md ", "dir [1]/%20 {x}.md", "a %41.md", "my notes/%41.md", "a 50%25.md", "%20 %20.md", "a %2F.md", "a %C3%A9 ü.md", "100%41/a b/%zz %.md", "e\u0301.md", "\U0001F600.md",
}

// pairs are the names whose rewritten URI is that of another file, which it then means.
var pairs = map[string]string{"a%20b.txt": "a b.txt", "%C3%A9.md": "é.md"}

// TestVSCodeSpellingsReadAndListen: VS Code sends URIs back rewritten. Each must mean the file that it was made of, and the
// notification must have that very spelling, or VS Code does not know it.
func TestVSCodeSpellingsReadAndListen(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			dir := awkwardTree(t)
			s := startSession(t, "mcp-fsserve", dir)
			if revision != "2026-07-28" {
				s.initialize(revision)
			}
			entries, _ := s.walk()
			spelled := map[string][]string{} // the names that a rewritten URI was made of
			for _, e := range entries {
				uri := rewritten(t, e.URI)
				spelled[uri] = append(spelled[uri], e.Name)
				if meant := s.read(uri); meant != e.Name && meant != pairs[e.Name] {
					t.Errorf("%s became %s, which reads %s", e.URI, uri, meant)
				}
			}
			s.subscribe(spelled)
			s.expectUpdates(dir, spelled)
			s.end()
		})
	}
}

// awkwardTree makes the tree; each file holds its own name.
func awkwardTree(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "tree [%41]")
	must(t, os.CopyFS(dir, os.DirFS("../../testdata/tree")))
	for _, name := range awkward {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	listed := strings.Split(strings.TrimSuffix(printed(t, "list", "--paths", dir), "\n"), "\n")
	names := map[string]bool{}
	for _, name := range listed {
		names[name] = true
	}
	for _, name := range awkward {
		if !names[printable(name)] {
			t.Fatalf("%q is not listed", name)
		}
	}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name()[0] == '.' {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		must(t, err)
		return os.WriteFile(path, []byte(rel), 0o666)
	}))
	return dir
}

func TestVSCodeRewriting(t *testing.T) {
	for canonical, want := range map[string]string{
		"file:///d/a%20b.md": "file:///d/a%20b.md", "file:///d/%C3%A9.md": "file:///d/%C3%A9.md", "file:///d/a%23b%3F.md": "file:///d/a%23b%3F.md",
		"file:///d/%5Bx%5D.md": "file:///d/[x].md", "file:///d/a%7Cb%5E.md": "file:///d/a|b^.md",
		"file:///d/100%25%20done.txt": "file:///d/100%%20done.txt", "file:///d/a%2520b.txt": "file:///d/a%20b.txt",
		"file:///d/%FF%FE.md": "file:///d/%FF%FE.md", "file:///d/%FFa%41": "file:///d/%FFaA", "file:///d/%7B%60%22%3C": "file:///d/%7B%60%22%3C",
	} {
		if got := rewritten(t, canonical); got != want {
			t.Errorf("%s becomes %s, want %s", canonical, got, want)
		}
	}
}

var escapes = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)

// rewritten is what VS Code makes of a file URI: it decodes the path and sets it as the pathname of a WHATWG URL.
func rewritten(t *testing.T, uri string) string {
	path, ok := strings.CutPrefix(uri, "file://")
	if !ok || strings.ContainsAny(path, "?#") {
		t.Fatalf("no URI of a file: %s", uri)
	}
	path = escapes.ReplaceAllStringFunc(path, decodeOrKeep)
	if strings.ContainsAny(path, "\\\t\r\n") {
		t.Fatalf("the way of %s leads not back", uri)
	}
	var out strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c <= ' ' || c > '~' || strings.IndexByte("\"#<>?`{}", c) >= 0:
			out.WriteString("%" + strings.ToUpper(string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15])))
		default:
			out.WriteByte(c)
		}
	}
	return "file://" + out.String()
}

// decodeOrKeep decodes a run of escapes if it is UTF-8, else all of it but the first.
func decodeOrKeep(run string) string {
	if run == "" {
		return ""
	}
	if text, err := url.PathUnescape(run); err == nil && utf8.ValidString(text) {
		return text
	}
	return run[:3] + decodeOrKeep(run[3:])
}

// subscribe asks for all URIs and waits until that is granted.
func (s *session) subscribe(spelled map[string][]string) {
	s.t.Helper()
	var uris []string
	for uri := range spelled {
		uris = append(uris, uri)
		if s.legacy {
			s.call("resources/subscribe", map[string]any{"uri": uri}, nil)
		}
	}
	if s.legacy {
		return
	}
	s.send("subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": uris}})
	if m := s.notification(); m.Method != "notifications/subscriptions/acknowledged" {
		s.t.Fatalf("the server sent %+v", m)
	}
}

// expectUpdates changes one file after the other, and waits for the notification of each.
func (s *session) expectUpdates(dir string, spelled map[string][]string) {
	s.t.Helper()
	for uri, names := range spelled {
		for _, name := range names {
			file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND, 0)
			must(s.t, err)
			_, err = file.WriteString("changed")
			must(s.t, err)
			must(s.t, file.Close())
			m := s.notification()
			for m.Params.URI != uri {
				if m.Method != "notifications/resources/updated" || spelled[m.Params.URI] == nil {
					s.t.Fatalf("after a change of %q the server sent %+v, want %s", name, m, uri)
				}
				m = s.notification()
			}
		}
	}
}
