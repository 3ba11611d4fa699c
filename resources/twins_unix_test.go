//go:build unix

package resources

import (
	"os"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// TestHardLinkMadeAfterTheBaseline: the system tells of the new name only. A write through it, from the first moment on, is
// a change of the file.
func TestHardLinkMadeAfterTheBaseline(t *testing.T) {
	p := serve(t, "d/f", "x", "u").watch()
	p.must(os.Link(p.at("d/f"), p.at("g")))
	p.write("g", "longer than it was")
	c, reply := p.Root.Apply(dirty(cont, "g")) // not settled yet
	if len(c.Keys) != 1 || c.List || len(reply.Unsettled) != 1 {
		t.Errorf("%+v, %+v", c, reply)
	}
	p.wantApply(dirty(watcher.Settled, "g"), true, "g")
	p.write("g", "even longer than it was")
	p.wantApply(dirty(cont, "g"), false, "d/f", "g")
	p.write("d/f", "and longer")
	p.wantApply(dirty(cont, "d/f"), false, "d/f", "g")
	p.must(os.Link(p.at("x"), p.at("y")))
	p.write("y", "longer than it was")
	p.wantApply(rescan(""), true, "x", "y")
	p.must(os.Remove(p.at("u")))
	p.must(os.Link(p.at("x"), p.at("u"))) // in the place of another file
	p.wantApply(dirty(cont, "u"), false, "u")
	p.write("u", "as long as never before")
	p.wantApply(dirty(cont, "u"), false, "u", "x", "y")
	for _, name := range []string{"d", "g", "u", "x", "y"} {
		p.remove(name)
	}
	p.wantApply(rescan(""), true, "d/", "d/f", "g", "u", "x", "y")
	if len(p.twins.files)+len(p.twins.searched) > 0 {
		t.Errorf("kept: %v, %v", p.twins.files, p.twins.searched)
	}
}

// TestHardLinkThatIsNotServed: a write through it is a change of the names that are, though they had no other before.
func TestHardLinkThatIsNotServed(t *testing.T) {
	p := serve(t, "f").watch()
	p.must(os.Link(p.at("f"), p.at(".f")))
	p.write(".f", "longer than it was")
	p.wantApply(dirty(cont, ".f"), false, "f")
	p.write(".f", "even longer than it was")
	p.wantApply(dirty(cont, ".f"), false, "f")
}

// TestMakingAHardLinkIsNoChange of the file, whenever and under whatever name it is told. A write is, even if it shows nowhere.
func TestMakingAHardLinkIsNoChange(t *testing.T) {
	const made = cont | watcher.Created
	p := serve(t, "f", ".f").watch()
	p.cat.Baseline(t.Context(), []string{"test://f"})
	p.must(os.Link(p.at("f"), p.at(".g")))
	p.wantApply(dirty(made, ".g"), false)
	p.must(os.Link(p.at("f"), p.at("g")))
	p.wantApply(rescan(""), true, "g") // whose event is late
	p.wantApply(dirty(made, "g"), false, "g")
	p.write(".f", "another file")
	p.must(os.Rename(p.at(".g"), p.at(".f")))
	p.wantApply(dirty(made, ".f"), false)
	p.wantApply(dirty(cont, ".f"), false, "f", "g")
	p.wantApply(dirty(cont, "g"), false, "f", "g")
	p.write(".f", "longer than it was")
	p.wantApply(dirty(made, ".f"), false, "f", "g")
}

// TestInodeThatBecomesServed: the index is not searched at each write to a file without a name in it; but a name that it
// gets later is found, even if it is the only one then.
func TestInodeThatBecomesServed(t *testing.T) {
	p := serve(t, ".x").watch()
	p.must(os.Link(p.at(".x"), p.at(".y")))
	p.wantApply(dirty(cont, ".x"), false)
	fi, err := os.Lstat(p.at(".x"))
	p.must(err)
	if p.twins.partly(newStat(fi, p.who)) {
		t.Error("the index is searched again")
	}
	p.rename(".x", "f")
	p.remove(".y")
	p.wantApply(dirty(cont|str, "f", ".x", ".y"), true, "f")
	p.must(os.Link(p.at("f"), p.at(".z")))
	p.write(".z", "longer than it was")
	p.wantApply(dirty(cont, ".z"), false, "f")
}

// TestHardLinkInANewDirectory: the same for names that come with their directory.
func TestHardLinkInANewDirectory(t *testing.T) {
	p := serve(t, "f").watch()
	p.make("d/")
	p.must(os.Link(p.at("f"), p.at("d/g")))
	p.write("d/g", "longer than it was")
	p.wantApply(rescan("d"), true, "d/", "d/g", "f")
}

// TestOneSearchForAnInode: a file with a name that is not served does not have the index searched at each write.
func TestOneSearchForAnInode(t *testing.T) {
	p := serve(t, "f").watch()
	s := func() *stat { return p.tree.file("f").stat.Load() }
	p.must(os.Link(p.at("f"), p.at(".f")))
	p.write("f", "longer than it was")
	p.wantApply(dirty(cont, "f"), false, "f")
	if s().nlink != 2 || p.twins.partly(s()) {
		t.Errorf("%d names, and the index is searched again", s().nlink)
	}
}

// Making a name changes no other name of the file.
func TestNewHardLinkAloneChangesNothing(t *testing.T) {
	p := serve(t, "f", "d/").watch()
	p.must(os.Link(p.at("f"), p.at("d/g")))
	p.wantApply(dirty(cont, "d/g"), true, "d/g")
	p.write("d/g", "written through the new name")
	p.wantApply(dirty(cont, "d/g"), false, "d/g", "f")
}
