package resources

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// flags is a Selection as it is written on a command line, each list separated by spaces.
type flags struct {
	include, exclude, unhide, without string
	hidden, noIgnore                  bool
}

func (f flags) options() *Options {
	parse := func(list string, read func(string) (*Glob, error)) (out []*Glob) {
		for _, text := range strings.Fields(list) {
			g, err := read(text)
			if err != nil {
				panic(err)
			}
			out = append(out, g)
		}
		return out
	}
	return &Options{
		Base: "test://",
		Select: &Selection{
			Include: parse(f.include, ParseGlob), Exclude: parse(f.exclude, ParseGlob), Unhide: parse(f.unhide, ParseUnhide),
			Hidden: f.hidden, NoIgnore: f.noIgnore,
		},
		Without: strings.Fields(f.without),
	}
}

// selected opens the root again with flags.
func (p *place) selected(f flags) *place {
	p.t.Helper()
	p.open(f.options())
	p.flags = f
	return p
}

func TestSelection(t *testing.T) {
	tree := []string{
		"a.md", "b.txt", "d/a.md", "d/b.txt", "d/e/a.md", "out/a.md", "out/b/c.md", "x.log", "d/x.log", ".env", "d/.env", "d/k.pem", "keys.pem/x",
		".github/w/a.yml", ".github/w/b.md", ".github/o.md", ".github/.x/y", ".git/config", ".h/k.pem",
	}
	for _, c := range []struct {
		name  string
		flags flags
		list  string
		dirs  string // the directories that are watched, of those in the tree
	}{
		{"the defaults", flags{}, "a.md b.txt d/a.md d/b.txt d/e/a.md", "d d/e"},
		{"hidden", flags{hidden: true}, ".gitignore a.md b.txt .git/config .github/o.md .github/.x/y .github/w/a.yml .github/w/b.md d/a.md d/b.txt d/e/a.md",
			".git .github .github/.x .github/w .h d d/e"},
		{"no ignore", flags{noIgnore: true}, "a.md b.txt x.log d/a.md d/b.txt d/x.log d/e/a.md out/a.md out/b/c.md", "d d/e out out/b"},
		{"include a name", flags{include: "*.md"}, "a.md d/a.md d/e/a.md", "d d/e"},
		{"include un-hides nothing", flags{include: "*.log .env *.pem"}, "", "d d/e"},
		{"include prunes", flags{include: "d/*.md"}, "d/a.md", "d"},
		{"include a directory", flags{include: "/d/e/"}, "d/e/a.md", "d d/e"},
		{"include the inside", flags{include: "d/** /a.*"}, "a.md d/a.md d/b.txt d/e/a.md", "d d/e"},
		{"include alternatives", flags{include: "{a.md,d/b.txt}"}, "a.md d/a.md d/b.txt d/e/a.md", "d d/e"},
		{"include a file only", flags{include: "/a.md"}, "a.md", ""},
		{"exclude a name", flags{exclude: "*.md"}, "b.txt d/b.txt", "d d/e"},
		{"exclude a directory", flags{exclude: "e"}, "a.md b.txt d/a.md d/b.txt", "d"},
		{"exclude the inside", flags{exclude: "d/**"}, "a.md b.txt", "d"},
		{"exclude beats include", flags{include: "*.md", exclude: "/d"}, "a.md", ""},
		{"exclude beats hidden", flags{hidden: true, exclude: ".git/ .github d"}, ".gitignore a.md b.txt", ".h"},
		{"exclude beats unhide", flags{unhide: ".github", exclude: "*.md"}, "b.txt .github/.x/y .github/w/a.yml d/b.txt", ".github .github/.x .github/w d d/e"},
		{"unhide a directory", flags{unhide: ".github"}, "a.md b.txt .github/o.md .github/.x/y .github/w/a.yml .github/w/b.md d/a.md d/b.txt d/e/a.md",
			".github .github/.x .github/w d d/e"},
		{"unhide opens what leads there", flags{unhide: ".github/w/*.yml"}, "a.md b.txt .github/w/a.yml d/a.md d/b.txt d/e/a.md", ".github .github/w d d/e"},
		{"unhide the inside", flags{unhide: ".github/**/y"}, "a.md b.txt .github/.x/y d/a.md d/b.txt d/e/a.md", ".github .github/.x .github/w d d/e"},
		{"unhide what is ignored", flags{unhide: "out/b"}, "a.md b.txt d/a.md d/b.txt d/e/a.md out/b/c.md", "d d/e out out/b"},
		{"unhide a name", flags{unhide: ".env x.log"}, ".env a.md b.txt x.log d/.env d/a.md d/b.txt d/x.log d/e/a.md", "d d/e"},
		{"unhide a name opens nothing", flags{unhide: "k.pem"}, "a.md b.txt d/a.md d/b.txt d/k.pem d/e/a.md", "d d/e"},
		{"unhide a name in what is open", flags{unhide: "k.pem .h/none"}, "a.md b.txt .h/k.pem d/a.md d/b.txt d/k.pem d/e/a.md", ".h d d/e"},
		{"unhide below a credential", flags{unhide: "keys.pem/x"}, "a.md b.txt d/a.md d/b.txt d/e/a.md keys.pem/x", "d d/e keys.pem"},
		{"unhide and include", flags{unhide: ".github/**", include: "*.yml"}, ".github/w/a.yml", ".github .github/.x .github/w d d/e"},
		{"without", flags{without: "d/e .github", hidden: true}, ".gitignore a.md b.txt .git/config d/a.md d/b.txt", ".git .h d"},
		{"without beats unhide", flags{without: ".github/w/", unhide: ".github"}, "a.md b.txt .github/o.md .github/.x/y d/a.md d/b.txt d/e/a.md", ".github .github/.x d d/e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, tree...)
			p.write(".gitignore", "*.log\nout\n")
			p.selected(c.flags).wantSelected(strings.Fields(c.list), strings.Fields(c.dirs)) // by the disk
			p.watch()
			p.wantList(strings.Fields(c.list)...)
			p.wantSelected(strings.Fields(c.list), strings.Fields(c.dirs))
		})
	}
}

// wantSelected holds reads, Explain, Skip and Resolve to what should be served.
func (p *place) wantSelected(files, dirs []string) {
	p.t.Helper()
	p.eachPath(func(rel string, isDir bool) {
		want := slices.Contains(files, rel) || slices.Contains(dirs, rel)
		_, err := p.readKnown(rel, isDir)
		e := p.Explain(context.Background(), rel)
		_, unresolved := p.cat.Resolve("test://" + escape(rel))
		if (err == nil) != want || e.Served != want || want && unresolved != nil || isDir && p.Skip(rel) == want {
			p.t.Errorf("%s should be served: %v; read: %v, %+v, resolve: %v, skip: %v", rel, want, err, e, unresolved, p.Skip(rel))
		}
		if e.At != rel && !strings.HasPrefix(rel, e.At+"/") || e.Reason == "" {
			p.t.Errorf("%s: %+v", rel, e)
		}
	})
}

// readKnown is read, but for directories that wait for Load.
func (p *place) readKnown(rel string, isDir bool) (mcp.Contents, error) {
	if isDir && !p.complete {
		if e := p.Explain(context.Background(), rel); !e.Served {
			return mcp.Contents{}, errAbsent
		}
		return mcp.Contents{}, nil
	}
	return p.read(escape(rel))
}

// eachPath calls f for all that is below the directory.
func (p *place) eachPath(f func(rel string, isDir bool)) {
	var walk func(dir string)
	walk = func(dir string) {
		list, err := os.ReadDir(p.at(dir))
		p.must(err)
		for _, e := range list {
			rel := join(dir, e.Name())
			f(rel, e.IsDir())
			if e.IsDir() {
				walk(rel)
			}
		}
	}
	walk("")
}

func TestAnEmptySelectionCostsNothing(t *testing.T) {
	p := serve(t, "a")
	p.open(&Options{Base: "test://", Select: &Selection{NoIgnore: true}})
	if p.load(); p.tree.in != nil {
		t.Errorf("%+v", p.tree.in)
	}
}

// An opened directory shows nothing but what is unhidden, and can be read itself.
func TestOpenedDirectoryHoldsOnlyWhatIsUnhidden(t *testing.T) {
	p := serve(t, "a", ".h/x/y", ".h/z", ".h/w/v").selected(flags{unhide: ".h/x/y"}).load()
	p.wantText("", "test://a\r\ntest://.h/\r\n")
	p.wantText(".h/", "test://.h/x/\r\n")
	p.wantAbsent(".h/z", ".h/w", ".h/w/v")
}

func TestNoIgnoreReadsNoIgnoreFile(t *testing.T) {
	p := serve(t, "a", "d/b")
	p.write("d/.gitignore", strings.Repeat("#\n", 2<<20)+"x\n") // too large, so that it hides all
	p.selected(flags{noIgnore: true}).watch()
	p.wantList("a", "d/b")
	p.write("d/.gitignore", "b\n")
	if c, reply := p.Apply(dirty(cont, "d/.gitignore")); len(c.Keys) > 0 || c.List || len(reply.Rewalk) > 0 {
		t.Errorf("%+v, %+v", c, reply)
	}
	p.wantList("a", "d/b")
}

// With Hidden an ignore file is a file like others, and has its effect too.
func TestIgnoreFileIsServedWithHidden(t *testing.T) {
	p := serve(t, "a", "b", ".gitignore").selected(flags{hidden: true}).watch()
	p.wantList(".gitignore", "a", "b")
	p.write(".gitignore", "b\n")
	p.wantApply(dirty(cont, ".gitignore"), true, ".gitignore", "b")
	p.remove(".gitignore")
	p.wantApply(dirty(str, ".gitignore"), true, ".gitignore", "b")
	p.wantList("a", "b")
}

// A line that comes to ignore a directory closes it but for what is unhidden, and the watcher asks again.
func TestIgnoreEditsAroundWhatIsUnhidden(t *testing.T) {
	p := serve(t, "d/e/a", "d/f/b", "d/c").selected(flags{unhide: "d/e/*"}).watch()
	p.wantList("d/c", "d/e/a", "d/f/b")
	for _, d := range []string{"d", "d/e", "d/f"} {
		if p.Skip(d) {
			t.Errorf("%s is skipped", d)
		}
	}
	p.write(".gitignore", "d/\n")
	c, reply := p.Apply(dirty(cont, ".gitignore"))
	if want := []string{"test://d/c", "test://d/f/", "test://d/f/b"}; !slices.Equal(c.Keys, want) || !c.List || !slices.Equal(reply.Rewalk, []string{""}) {
		t.Errorf("%+v, %+v", c, reply)
	}
	p.wantList("d/e/a")
	if p.Skip("d") || p.Skip("d/e") || !p.Skip("d/f") {
		t.Error("the watcher is not told which directories are open")
	}
	p.make("d/e/n", "d/n", "d/e2/a")
	p.wantApply(dirty(cont, "d/e/n", "d/n", "d/e2"), true, "d/e/n")
	p.remove(".gitignore")
	p.wantApply(dirty(str, ".gitignore"), true, "d/c", "d/e2/", "d/e2/a", "d/f/", "d/f/b", "d/n")
}

// What a directory that cannot be listed holds is judged by how the directory stands, not by how the one above does.
func TestStandingOfADirectoryThatCannotBeListed(t *testing.T) {
	p := serve(t, ".h").selected(flags{unhide: ".h/x/y"}) // a file cannot be listed
	_, in, err := p.scan(".h", p.outermost)
	_, again, err2 := (&apply{root: p.Root}).scan(&dir{name: ".h", parent: p.tree, in: in}, ".h", &hint{}, p.outermost)
	if err == nil || err2 == nil || again != in {
		t.Fatal(err, err2, in, again)
	}
	if v := verdictOn(in, ".h", "q", false); v.by != dotName {
		t.Errorf("%+v", v)
	}
}

func TestLinksAreHeldToTheSelection(t *testing.T) {
	tree := []string{"a", "l -> a", "d/b", "m -> d/b", "k.pem", "s -> k.pem", "keys.pem/x", "t -> keys.pem/x", ".v/x", "v -> .v/x", ".v/k.pem", "w -> .v/k.pem"}
	for _, c := range []struct {
		flags flags
		list  string
	}{
		{flags{}, "a l m v d/b"},
		{flags{exclude: "/a d"}, "v"},
		{flags{exclude: "d/b"}, "a l v"},
		{flags{exclude: "m"}, "a l v d/b"},
		{flags{without: "d .v"}, "a l"},
		{flags{unhide: "k.pem"}, "a k.pem l m s v w d/b"},
		{flags{unhide: "/k.pem"}, "a k.pem l m s v d/b"},
		{flags{unhide: "keys.pem/x"}, "a l m t v d/b keys.pem/x"},
		{flags{unhide: "keys.pem/y x"}, "a l m t v d/b keys.pem/x"},
		{flags{unhide: "x"}, "a l m v d/b"}, // which opens no directory
		{flags{unhide: "s t"}, "a l m v d/b"},
		{flags{unhide: "k.pem", exclude: "*.pem"}, "a l m v d/b"},
		{flags{include: "l m v"}, "l m v"},
		{flags{hidden: true}, "a l m v .v/x d/b"},
	} {
		p := serve(t, tree...).selected(c.flags).watch()
		p.wantList(strings.Fields(c.list)...)
		for _, name := range []string{"l", "m", "s", "t", "v", "w"} {
			want := slices.Contains(strings.Fields(c.list), name)
			_, err := p.read(name)
			if e := p.Explain(context.Background(), name); e.Served != want || (err == nil) != want || e.At != name {
				t.Errorf("%+v: %s: %+v, read: %v", c.flags, name, e, err)
			}
		}
		if t.Failed() {
			t.Fatalf("%+v", c.flags)
		}
	}
}

func TestExcludedDoesNotResolve(t *testing.T) {
	p := serve(t).selected(flags{include: "d/*.md *.txt/", exclude: "e", unhide: ".env .x/y", without: "w"})
	for name, want := range map[string]bool{
		"d": true, "d/a.md": true, "d/a": true /* it may be a directory */, "e": false, "d/e": false, "e/f.md": false, "w": false, "w/a.md": false,
		"d/.env": true, ".x": true, ".x/y": true, ".x/z": false, "d/.y": false, "": true,
	} {
		var absent *mcp.NotFoundError
		if _, err := p.cat.Resolve("test://" + name); (err == nil) != want || err != nil && !errors.As(err, &absent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.selected(flags{include: "/d/*.md"})
	for name, want := range map[string]bool{"d": true, "d/a.md": true, "d/a": false, "e": false, "a.md": false} {
		if _, err := p.cat.Resolve("test://" + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
