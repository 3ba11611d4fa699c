package resources

import (
	"os"
	"slices"
	"testing"
)

// missing opens the root dir below p, which is not there, beside one that is.
func (p *place) missing(dir string) *place {
	p.t.Helper()
	p.make("present/")
	roots := p.mustOpenRoots(&Options{Base: "test://"}, "present", "x="+dir)
	return &place{t: p.t, dir: p.at(dir), Root: roots[1], cat: NewCatalogue(nil, roots[1])}
}

func (p *place) wantEmpty() {
	p.t.Helper()
	p.wantList()
	p.wantAbsent("a", "d/", "d/b", "d/b/c")
	if c, err := p.read(""); err != nil || c.MIMEType != "text/uri-list" || len(c.Data) > 0 {
		p.t.Errorf("read of the root: %+v, %v", c, err)
	}
	if keys, err := p.cat.Resolve("test://x/d/b"); err != nil || !slices.Equal(keys, []string{"test://x/d/b"}) {
		p.t.Errorf("%q, %v", keys, err)
	}
}

// A root that is missing is empty. It comes at once, and may go and return.
func TestMissingRoot(t *testing.T) {
	for _, native := range []bool{true, false} {
		top := serve(t)
		p := top.missing("r")
		p.reach.native = p.reach.native && native
		p.cat.Baseline(t.Context(), []string{"test://x/a"})
		p.load()
		p.wantEmpty()
		p.cat.Baseline(t.Context(), []string{"test://x", "test://x/d/b"})
		top.make("new/a", "new/d/b", "new/hid", "new/l -> d/b")
		top.write("new/.gitignore", "hid\n")
		for range 3 {
			top.rename("new", "r")
			p.wantText("a", "content of new/a") // what is there can be read, before anybody tells of it
			p.wantAbsent("hid")
			b := rescan("")
			b.Dirty = dirty(str, "").Dirty
			c, reply := p.Root.Apply(b)
			if want := []string{"test://x/a", "test://x/d/", "test://x/d/b", "test://x/l"}; !slices.Equal(c.Keys, want) || !c.List || len(reply.Unsettled) > 0 {
				t.Errorf("it came: %+v, %+v", c, reply)
			}
			p.wantList("a", "l", "d/b")
			p.wantText("d/b", "content of new/d/b")
			p.wantText("l", "content of new/d/b")
			top.rename("r", "new")
			p.wantAbsent("a", "d/b")
			c, reply = p.Root.Apply(b)
			if len(c.Keys) != 4 || !c.List || len(reply.Unsettled) > 0 {
				t.Errorf("it went: %+v, %+v", c, reply)
			}
			p.wantEmpty()
		}
	}
}

// The rules of a directory that nobody has told of yet are in force in it, and watched by.
func TestRulesOfARootThatCame(t *testing.T) {
	p := serve(t).missing("r").load()
	p.write("hid/x", "secret")
	p.write("seen/x", "open")
	p.write("seen/.gitignore", "y\n")
	p.write(".gitignore", "hid\n")
	p.wantAbsent("hid/x", "hid")
	p.wantText("seen/x", "open")
	if !p.Skip("hid") || p.Skip("seen") {
		t.Error("what is watched")
	}
	p.remove(".gitignore") // the watcher went by it, so it must look again
	if _, reply := p.Root.Apply(rescan("")); !slices.Equal(reply.Rewalk, []string{""}) {
		t.Errorf("%+v", reply)
	}
	p.wantText("hid/x", "secret")
}

// What is above the root may come later too, also as a link.
func TestMissingAboveTheRoot(t *testing.T) {
	for _, native := range []bool{true, false} {
		top := serve(t)
		p := top.missing("up/link/r")
		p.reach.native = p.reach.native && native
		p.load()
		p.wantEmpty()
		top.make("one/r/d/e/a", "two/r/d/e/b", "up/")
		for range 2 {
			for _, c := range []struct{ to, file string }{{"../one", "d/e/a"}, {"../two", "d/e/b"}} {
				p.must(os.Symlink(c.to, top.at("up/link")))
				if _, err := p.read(c.file); err != nil {
					t.Errorf("%s: %v", c.file, err)
				}
				p.wantApply(rescan(""), true, "d/", "d/e/", c.file)
				p.wantList(c.file)
				top.remove("up/link")
				p.wantApply(rescan(""), true, "d/", "d/e/", c.file)
				p.wantEmpty()
			}
		}
	}
}

// Something else in its place is as good as nothing.
func TestAFileWhereTheRootShouldBe(t *testing.T) {
	top := serve(t)
	p := top.missing("r").load()
	top.write("r", "a file")
	p.wantApply(rescan(""), false)
	p.wantEmpty()
	if !p.Missing() {
		t.Error("a file is no directory")
	}
	top.remove("r")
	top.make("r/a")
	p.wantApply(rescan(""), true, "a")
	if p.Missing() {
		t.Error("it is there")
	}
}
