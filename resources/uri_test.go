package resources

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

func catalogueAt(prefix string) *Catalogue {
	return NewCatalogue(nil, &Root{base: newBase(prefix), tree: &dir{}})
}

func TestURIEscapesOnlyWhatMust(t *testing.T) {
	b := newBase("test://")
	for rel, want := range map[string]string{
		"a(b)'!*.md":  "a(b)'!*.md",
		"a b.md":      "a%20b.md",
		"é.md":        "%C3%A9.md",
		"a#b?c":       "a%23b%3Fc",
		"[x]|^":       "%5Bx%5D%7C%5E",
		"100% done":   "100%25%20done",
		"a%20b":       "a%2520b",
		`a\b`:         "a%5Cb",
		"a\nb":        "a%0Ab",
		"\xff":        "%FF",
		"d/e:@&=+$,;": "d/e:@&=+$,;",
		"~-._":        "~-._",
		`"<>{}`:       "%22%3C%3E%7B%7D",
	} {
		if got := b.uri(rel); got != "test://"+want {
			t.Errorf("%q: %s, want test://%s", rel, got, want)
		}
	}
}

func TestFileBase(t *testing.T) {
	for dir, want := range map[string]string{
		"/srv/my docs": "file:///srv/my%20docs/",
		"/":            "file:///",
		"/a%b":         "file:///a%25b/",
	} {
		if got := fileBase(dir); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	const file = "file:///srv/my%20docs/"
	for _, c := range []struct {
		base, uri string
		want      string // keys less the base, space separated; "-" refused; "." the root
	}{
		{file, file + "a.md", "a.md"},
		{file, file + "d/a.md", "d/a.md"},
		{file, file + "%61.md", "a.md %2561.md"},
		{file, file + "a%20b.md", "a%20b.md a%2520b.md"},
		{file, file + "a b.md", "a%20b.md"},
		{file, file + "100%%20done.txt", "100%25%20done.txt 100%25%2520done.txt"},
		{file, file + "50%", "50%25"},
		{file, file + "é", "%C3%A9"},
		{file, file + "[x]|^", "%5Bx%5D%7C%5E"},
		{file, file + "d/", "d"},
		{file, file, "."},
		{file, strings.TrimSuffix(file, "/"), "."},
		{file, "file://localhost/srv/my%20docs/a", "a"},
		{file, "FILE://LOCALHOST/srv/my%20docs/a", "a"},
		{file, "file:///srv/my docs/a", "a"},
		{file, "file:///%73rv/m%79%20docs/a", "a"},
		{file, "file:///srv/my%20docs", "."},
		{file, "file:///srv/other/a", "-"},
		{file, "file:///srv/my%20docsx/a", "-"},
		{file, "file:///srv/my%20docs/../a", "-"},
		{file, "file:///srv/x/../my%20docs/a", "-"},
		{file, "file://host/srv/my%20docs/a", "-"},
		{file, "file://user@localhost/srv/my%20docs/a", "-"},
		{file, "http:///srv/my%20docs/a", "-"},
		{file, "/srv/my docs/a", "-"},
		{file, "", "-"},
		{file, file + "a?b", "-"},
		{file, file + "a#b", "-"},
		{file, file + ".", "-"},
		{file, file + "..", "-"},
		{file, file + "a/./b", "-"},
		{file, file + "a/../b", "-"},
		{file, file + "a//b", "-"},
		{file, file + "/a", "-"},
		{file, file + "a//", "-"},
		{file, file + "%2e%2e/a", "%252e%252e/a"}, // decoded it is refused; to the letter it is a name like any other
		{file, file + "a%2Fb", "a%252Fb"},
		{file, file + "a%00b", "a%2500b"},
		{file, file + "a\x00b", "-"},
		{"test://", "test://a/b", "a/b"},
		{"test://", "TEST://a", "a"},
		{"test://", "test://", "."},
		{"test://", "test:a", "-"},
		{"https://docs.example.com/", "https://DOCS.example.com/a", "a"},
		{"https://docs.example.com/", "https://docs.example.com", "."},
		{"https://docs.example.com/", "https://docs.example.com:443/a", "-"},
		{"https://docs.example.com/x/", "https://docs.example.com/%78/a", "a"},
		{"fs://docs/", "fs://docs/a", "a"},
		{"fs://docs/", "fs://localhost/a", "-"},
		{"file:///", "file:///etc/a", "etc/a"},
		{"file:///", "file://localhost/etc/a", "etc/a"},
	} {
		keys, err := catalogueAt(c.base).Resolve(c.uri)
		var got []string
		for _, k := range keys {
			if k == c.base[:len(c.base)-1] {
				got = append(got, ".")
			} else {
				got = append(got, strings.TrimPrefix(k, c.base))
			}
		}
		if err != nil {
			got = []string{"-"}
			var absent *mcp.NotFoundError
			if !errors.As(err, &absent) || absent.URI != c.uri {
				t.Errorf("%q: %v", c.uri, err)
			}
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q: %q, want %q", c.uri, got, c.want)
		}
	}
}

func TestKeysNestAtSlashes(t *testing.T) {
	for _, prefix := range []string{"test://", "file:///srv/", "file:///"} {
		b := newBase(prefix)
		if !strings.HasPrefix(b.key("a"), b.key("")+"/") || !strings.HasPrefix(b.key("a/b"), b.key("a")+"/") {
			t.Errorf("%s: %q, %q, %q", prefix, b.key(""), b.key("a"), b.key("a/b"))
		}
	}
}

func FuzzURIRoundTrip(f *testing.F) {
	for _, s := range []string{"a", "a b", "a%20b", "%", "%%", "%2", "é", "\xff\xfe", "a\nb", "d/e/f", "[x]", `\`, "..a", "a..", "...", "%2e%2e"} {
		f.Add(s)
	}
	b := newBase("file:///srv/my%20docs/")
	f.Fuzz(func(t *testing.T, rel string) {
		if !plainPath(rel) {
			return
		}
		uri := b.uri(rel)
		if strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^{|}`+"`", r) }) {
			t.Errorf("%q gives %q", rel, uri)
		}
		if got := b.parse(uri); len(got) == 0 || got[0].rel != rel {
			t.Errorf("%q: %q means %+v", rel, uri, got)
		}
		if back, ok := b.relOf(b.key(rel)); !ok || back != rel {
			t.Errorf("%q: the key gives %q", rel, back)
		}
		var all strings.Builder // every byte escaped means the same
		for seg := range strings.SplitSeq(rel, "/") {
			all.WriteByte('/')
			for _, c := range []byte(seg) {
				all.WriteString("%" + string(upperHex[c>>4]) + strings.ToLower(string(upperHex[c&15])))
			}
		}
		if got := b.parse(b.prefix + all.String()[1:]); len(got) == 0 || got[0].rel != rel {
			t.Errorf("%q: fully escaped it means %+v", rel, got)
		}
	})
}

func FuzzURIRefusals(f *testing.F) {
	for _, s := range []string{"../a", "%2e%2e/a", "a/%2e/b", "a//b", "a?b", "a#b", "a%2fb", "%00", "..%2f..", "/", "a/", "%", ".%2e"} {
		f.Add(s)
	}
	b := newBase("test://")
	f.Fuzz(func(t *testing.T, rest string) {
		for _, rd := range b.parse("test://" + rest) {
			if rd.rel != "" && !plainPath(rd.rel) {
				t.Errorf("%q means %q", rest, rd.rel)
			}
			if strings.ContainsAny(rest, "?#") {
				t.Errorf("%q is accepted", rest)
			}
			if n := strings.Count(strings.TrimSuffix(rest, "/"), "/"); strings.Count(rd.rel, "/") != n {
				t.Errorf("%q means %q, of another depth", rest, rd.rel)
			}
			if rd.dirOnly != (rest == "" || strings.HasSuffix(rest, "/")) {
				t.Errorf("%q: dirOnly %v", rest, rd.dirOnly)
			}
		}
	})
}

// TestNoPathIsLongerThanCanBeOpened: a URI may be as long as a line of the wire, of which each segment would be judged.
func TestNoPathIsLongerThanCanBeOpened(t *testing.T) {
	p := serve(t, "a").load()
	for n, want := range map[int]bool{mostPath - 1: true, mostPath + 1: false} {
		path := strings.Repeat("a/", n/2) + "a"
		if _, err := p.cat.Resolve("test://" + path); (err == nil) != want {
			t.Errorf("a path of %d bytes: %v", len(path), err)
		}
		if _, err := p.cat.Resolve("test://" + strings.Replace(path, "a", "%61", 1)); (err == nil) != want {
			t.Errorf("a path of %d bytes, escaped: %v", len(path), err)
		}
	}
}
