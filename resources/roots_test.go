package resources

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNamesOfRoots(t *testing.T) {
	for _, c := range []struct{ dirs, want string }{
		{"/srv/docs", "docs"},
		{"/srv/My_Docs.v2", "my-docs.v2"},
		{"/", "root"},
		{"/srv/.config", "config"},
		{"/srv/-.-", "root"},
		{"/srv/été", "t-"},
		{"/srv/\xff\xfea", "a"},
		{"/srv/\u212a", "root"}, // the Kelvin sign, which is a k in lower case
		{"/a/x /b/X /c/x", "x x-2 x-3"},
		{"/a/x x=/b /c/x", "x-2 x x-3"},
		{"x-2=/a /b/x /c/x", "x-2 x x-3"},
		{"7.z-=/a", "7.z-"},
	} {
		got, err := Names(specsOf(c.dirs))
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v, want %s", c.dirs, got, err, c.want)
		}
		for _, name := range got {
			if !isName(name) {
				t.Errorf("%s: %q is no name", c.dirs, name)
			}
		}
	}
	for dirs, want := range map[string]error{
		"Docs=/a": ErrBadName, "-a=/a": ErrBadName, ".=/a": ErrBadName, "a_b=/a": ErrBadName, "é=/a": ErrBadName, "a/b=/a": ErrBadName,
		"a=/x a=/y": ErrNameTaken,
	} {
		specs := specsOf(dirs)
		_, err := Names(specs)
		var told *RootError
		if !errors.Is(err, want) || !errors.As(err, &told) || told.Dir != specs[len(specs)-1].Dir {
			t.Errorf("%s: %v", dirs, err)
		}
	}
}

// specsOf parses "NAME=DIR DIR".
func specsOf(list string) (specs []Spec) {
	for _, arg := range strings.Split(list, " ") {
		name, dir, ok := strings.Cut(arg, "=")
		if !ok {
			name, dir = "", arg
		}
		specs = append(specs, Spec{name, dir})
	}
	return specs
}

// openRoots opens directories below that of p.
func (p *place) openRoots(opts *Options, specs ...string) ([]*Root, error) {
	var list []Spec
	for _, s := range specs {
		for _, spec := range specsOf(s) {
			list = append(list, Spec{spec.Name, p.at(spec.Dir)})
		}
	}
	roots, err := OpenRoots(list, opts)
	p.t.Cleanup(func() { closeAll(roots) })
	return roots, err
}

func (p *place) mustOpenRoots(opts *Options, specs ...string) []*Root {
	p.t.Helper()
	roots, err := p.openRoots(opts, specs...)
	p.must(err)
	return roots
}

func TestOpenRootsErrors(t *testing.T) {
	p := serve(t, "a/", "b/", "file")
	p.must(os.Symlink("a", p.at("to-a")))
	for _, c := range []struct {
		specs, dir, other string
		want              error
	}{
		{"none neither", "none", "", ErrMissing},
		{"a file", "file", "", ErrNotDirectory},
		{"a=a A=b", "b", "", ErrBadName},
		{"x=a x=b", "b", "a", ErrNameTaken},
		{"a b ./a", "a", "a", ErrSameDirectory},
		{"a to-a", "to-a", "a", ErrSameDirectory},
		{"a none x/../none", "none", "none", ErrSameDirectory},
	} {
		_, err := p.openRoots(nil, c.specs)
		var told *RootError
		if !errors.Is(err, c.want) || !errors.As(err, &told) || told.Dir != p.at(c.dir) || c.other != "" && told.Other != p.at(c.other) {
			t.Errorf("%s: %v, %+v", c.specs, err, told)
		}
	}
	if _, err := OpenRoots(nil, nil); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if _, err := OpenRoots([]Spec{{Dir: ""}}, nil); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	for _, base := range []string{"test", "test://x", "test://x?", "test:"} {
		if _, err := p.openRoots(&Options{Base: base}, "a", "b"); !errors.Is(err, ErrBadBase) {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestBasesOfRoots(t *testing.T) {
	p := serve(t, "a/", "b c/")
	bases := func(opts *Options, specs ...string) (out []string) {
		for _, r := range p.mustOpenRoots(opts, specs...) {
			out = append(out, r.base.prefix)
		}
		return out
	}
	for _, c := range []struct{ got, want []string }{
		{bases(&Options{Base: "test://"}, "a"), []string{"test://"}},
		{bases(&Options{Base: "test://x/"}, "a", "other=b"), []string{"test://x/a/", "test://x/other/"}},
		{bases(nil, "a"), []string{fileBase(p.at("a"))}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if err := CheckBase("test://"); err != nil {
		t.Error(err)
	}
	roots := p.mustOpenRoots(nil, "a", "none")
	if r := roots[0]; r.Name() != "a" || r.Dir() != p.at("a") || r.Missing() || !roots[1].Missing() {
		t.Errorf("%q %q", r.Name(), r.Dir())
	}
}

func TestCheckBase(t *testing.T) {
	for _, good := range []string{"test://", "fs://docs/", "file:///", "HTTPS://user@docs.example.com:80/a%20b/(c);d=e/", "urn:x/", "http://[::1]/", "a+b-c.d://"} {
		if err := CheckBase(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		"":                "scheme",
		"/a/":             "scheme",
		"://a/":           "scheme",
		"1a://":           "scheme",
		"a b://":          "scheme",
		"test://a":        `end in "/"`,
		"test:":           `end in "/"`,
		"test://a?b/":     "'?'",
		"test://a/?b":     "'?'",
		"test://a/..":     `".."`,
		"test://a#/":      "'#'",
		"test://a b/":     "' '",
		"test://é/":       "'é'",
		"test://{x}/":     "'{'",
		`test://a\b/`:     `'\\'`,
		"test://%2/":      "hexadecimal",
		"test://%/":       "hexadecimal",
		"test://%zz/":     "hexadecimal",
		"test://a/../b/":  `".."`,
		"test://a/%2e/b/": `"."`,
		"test://\x00/":    `'\x00'`,
	} {
		if err := CheckBase(bad); !errors.Is(err, ErrBadBase) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want something of %s", bad, err, why)
		}
	}
}

func TestNestedRoots(t *testing.T) {
	p := serve(t, "out/a", "out/in/b", "out/in/deep/er/c", "out/z/d", "elsewhere/e")
	p.must(os.Symlink("out/in", p.at("link")))
	p.must(os.Symlink("../in/b", p.at("out/z/to-b")))
	for _, base := range []string{"", "test://"} {
		roots := p.mustOpenRoots(&Options{Base: base}, "out", "deepest=out/in/deep/er", "inner=link", "elsewhere")
		got := walkAll(t, NewCatalogue(&CatalogueOptions{PageSize: 2}, roots...))
		if want := []string{"out/a", "out/z/d", "deepest/c", "inner/b", "elsewhere/e"}; !slices.Equal(got, want) {
			t.Errorf("base %q: %q, want %q", base, got, want)
		}
		if !roots[0].Skip("in") || !roots[0].Skip("in/deep") || !roots[2].Skip("deep/er") || roots[2].Skip("deep") {
			t.Errorf("base %q: what is another root's is watched", base)
		}
	}
}

// The inner root answers for what is its own, and the outer one denies it.
func TestNestedRootsShareURIs(t *testing.T) {
	p := serve(t, "out/a", "out/in/b")
	for _, specs := range []string{"out out/in", "out/in out"} {
		roots := p.mustOpenRoots(nil, specs)
		cat := NewCatalogue(nil, roots...)
		walkAll(t, cat)
		for _, rel := range []string{"out/in/b", "out/in/none", "out/in", "out/in/"} {
			uri := strings.TrimSuffix(fileBase(p.at(rel)), "/")
			keys, err := cat.Resolve(uri)
			if err != nil || !slices.Equal(keys, []string{uri}) {
				t.Errorf("%s: %q, %v", rel, keys, err)
			}
		}
		if c, err := cat.Read(t.Context(), fileBase(p.at("out/in"))+"b", nil); err != nil || string(c.Data) != "content of out/in/b" {
			t.Errorf("%+v, %v", c, err)
		}
		c, err := cat.Read(t.Context(), fileBase(p.at("out/in")), nil)
		if want := fileBase(p.at("out/in")) + "b\r\n"; err != nil || string(c.Data) != want {
			t.Errorf("%q, %v, want %q", c.Data, err, want)
		}
	}
}

// Bases may nest although the directories do not.
func TestResolveGivesEachKeyOnce(t *testing.T) {
	cat := NewCatalogue(nil, &Root{base: newBase("test://"), tree: &dir{}}, &Root{base: newBase("test://in/"), tree: &dir{}})
	if keys, err := cat.Resolve("test://in/a"); err != nil || !slices.Equal(keys, []string{"test://in/a"}) {
		t.Errorf("%q, %v", keys, err)
	}
}

func TestWhereRootsAre(t *testing.T) {
	p := serve(t, "out/in/", "Out/")
	p.must(os.Symlink("out", p.at("link")))
	sites, err := sitesOf([]Spec{{Dir: p.at("link")}, {Dir: p.at("out/in/none/deep")}, {Dir: p.at("Out")}, {Dir: p.at("link/in")}, {Dir: "/"}})
	p.must(err)
	real, err := filepath.EvalSymlinks(p.dir)
	p.must(err)
	below := strings.TrimPrefix(filepath.ToSlash(real), "/")
	got := nested(sites)
	for i, want := range [][]string{
		{"in/none/deep", "in"}, nil, nil, {"none/deep"}, {below + "/out", below + "/out/in/none/deep", below + "/Out", below + "/out/in"},
	} {
		if !slices.Equal(got[i], want) {
			t.Errorf("site %d: %q, want %q", i, got[i], want)
		}
	}
}

// walkAll loads the roots and returns the names on all pages.
func walkAll(t *testing.T, cat *Catalogue) (names []string) {
	t.Helper()
	for _, r := range cat.roots {
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var cursor *string
	for {
		page, err := listPage(t.Context(), cat, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Resources {
			names = append(names, r.Name)
		}
		if page.NextCursor == "" {
			return names
		}
		cursor = &page.NextCursor
	}
}

func TestNamesBeginWithThoseOfTheRoots(t *testing.T) {
	p := serve(t, "docs/a b", "docs/d/e", "docs/\xff", "x/f")
	for _, base := range []string{"", "test://"} {
		roots := p.mustOpenRoots(&Options{Base: base}, "docs", "other=x")
		want := []string{"docs/a b", "docs/\ufffd", "docs/d/e", "other/f"}
		if got := walkAll(t, NewCatalogue(nil, roots...)); !slices.Equal(got, want) {
			t.Errorf("base %q: %q", base, got)
		}
		if got := walkAll(t, NewCatalogue(nil, roots[1])); !slices.Equal(got, []string{"f"}) {
			t.Errorf("base %q, alone: %q", base, got)
		}
	}
}

func TestTemplatesOfRoots(t *testing.T) {
	p := serve(t, "a/", "b/")
	got := NewCatalogue(nil, p.mustOpenRoots(&Options{Base: "test://"}, "a", "other=b")...).Templates()
	if len(got) != 2 || got[0].URITemplate != "test://a/{+path}" || got[0].Name != "a" || got[1].URITemplate != "test://other/{+path}" || got[1].Name != "other" {
		t.Errorf("%+v", got)
	}
}

// The whole disk can be served, whose path ends in a slash.
func TestServeTheRootOfTheDisk(t *testing.T) {
	p := serve(t, "d/a b", ".hidden/x", "in/y")
	real, err := filepath.EvalSymlinks(p.dir)
	p.must(err)
	for _, native := range []bool{true, false} {
		roots, err := OpenRoots([]Spec{{Dir: "/"}, {Dir: p.at("in")}}, nil)
		p.must(err)
		defer closeAll(roots)
		r := roots[0]
		r.reach.native = r.reach.native && native
		cat := NewCatalogue(nil, roots...)
		if r.base.prefix != "file:///" || r.Name() != "root" {
			t.Errorf("%s, %s", r.base.prefix, r.Name())
		}
		uri := fileBase(real)
		if c, err := cat.Read(t.Context(), uri+"d/a%20b", nil); err != nil || string(c.Data) != "content of d/a b" {
			t.Errorf("%q, %v", c.Data, err)
		}
		for _, rel := range []string{"none", ".hidden/x", "d/none", "D/a%20b"} {
			if c, err := cat.Read(t.Context(), uri+rel, nil); err == nil {
				t.Errorf("%s: %q", rel, c.Data)
			}
		}
		rel := strings.TrimPrefix(filepath.ToSlash(real), "/")
		if r.Skip(rel) || !r.Skip(rel+"/.hidden") || !r.Skip(rel+"/in") {
			t.Error("what is watched")
		}
		if ok, err := r.spelled(rel + "/d"); !ok || err != nil {
			t.Error(ok, err)
		}
		if keys, err := cat.Resolve(uri + "d"); err != nil || !slices.Equal(keys, []string{"file:///" + escape(rel) + "/d"}) {
			t.Errorf("%q, %v", keys, err)
		}
	}
}
