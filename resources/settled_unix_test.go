//go:build unix

package resources

import (
	"os"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// A link that is away itself while its target changes has its second look like any name.
func TestLinkAwayWhileItsTargetChanges(t *testing.T) {
	p := serve(t, "l -> t", "t").watch()
	p.remove("l")
	p.write("t", "longer than it was")
	if c, _ := p.Root.Apply(dirty(cont, "t")); c.List {
		t.Errorf("%+v", c)
	}
	p.wantList("l", "t")
	p.wantFirst(dirty(str, "l"), false, "l")
	p.wantFirst(dirty(cont|str|watcher.Settled, "l"), true)
	p.wantList("t")
	if n := len(p.links.by) + len(p.links.stuck); n != 0 {
		t.Errorf("kept: %v", p.links)
	}
}

// A link that a file replaced is served without a gap, whichever of the two names is told of first.
func TestLinkReplacedWhileItsTargetChanges(t *testing.T) {
	p := serve(t, "l -> t", "t").watch()
	p.remove("l")
	p.write("l", "a file")
	p.write("t", "longer than it was")
	p.wantApply(dirty(cont, "t"), false, "t")
	p.wantApply(dirty(cont|str, "l"), false, "l")
	p.wantList("l", "t")
}

func TestLinkWhoseTargetIsAwayUnderARescan(t *testing.T) {
	p := serve(t, "l -> t", "t").watch()
	p.rename("t", "t~")
	p.wantFirst(rescan(""), false, "t", "t~")
	p.rename("t~", "t")
	p.wantFirst(dirty(watcher.Settled, "t", "t~"), false)
	p.wantList("l", "t")
	p.remove("t")
	p.wantFirst(rescan(""), false, "t")
	p.wantFirst(dirty(watcher.Settled, "t"), true)
	p.wantList()
}

// Where notifications may have been lost, a change time counts for what is not served itself, too.
func TestLinkToAHiddenFileUnderARescan(t *testing.T) {
	p := serve(t, "l -> .h", ".h").watch()
	was := p.tree.file("l").stat.Load()
	for now := was; now.ctime == was.ctime && now.ctimeNano == was.ctimeNano; {
		p.write(".h", "CONTENT of .h")
		p.must(os.Chtimes(p.at(".h"), was.modTime(), was.modTime()))
		fi, err := os.Lstat(p.at(".h"))
		p.must(err)
		now = newStat(fi, p.who)
	}
	p.wantApply(rescan(""), false, "l")
	p.wantApply(rescan(""), false)
}

func TestLinkAwayUnderARescan(t *testing.T) {
	p := serve(t, "l -> t", "t", "dead -> none").watch()
	p.remove("l")
	p.remove("dead")
	p.wantFirst(rescan(""), false, "l")
	if p.tree.links["dead"] != nil {
		t.Error("a link that is gone and was not served is kept")
	}
	p.must(os.Symlink("t", p.at("l")))
	p.wantFirst(dirty(watcher.Settled, "l"), false)
	p.wantList("l", "t")
	p.remove("l")
	p.wantFirst(rescan(""), false, "l")
	p.wantFirst(dirty(watcher.Settled, "l"), true)
	if n := len(p.links.by) + len(p.links.stuck); n != 0 {
		t.Errorf("kept: %v", p.links)
	}
}
