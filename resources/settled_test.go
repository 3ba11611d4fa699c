package resources

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// wantFirst checks what one Apply says, without the second look that place.Apply adds.
func (p *place) wantFirst(b watcher.Batch, list bool, unsettled ...string) {
	p.t.Helper()
	c, reply := p.Root.Apply(b)
	if len(c.Keys) > 0 != list || c.List != list || !slices.Equal(reply.Unsettled, unsettled) {
		p.t.Errorf("apply %v: keys %q, list %v, unsettled %q; want list %v, unsettled %q", b, c.Keys, c.List, reply.Unsettled, list, unsettled)
	}
}

func TestNewNameCountsAtTheSecondLook(t *testing.T) {
	p := serve(t)
	p.write("a", "1")
	p.watch()
	p.write("new", "2")
	p.wantFirst(dirty(cont, "new"), false, "new")
	p.wantList("a")
	p.wantText("new", "2") // what is there can be read
	p.wantFirst(dirty(cont, "new"), false, "new")
	p.wantApply(dirty(watcher.Settled, "new"), true, "new")
	p.wantList("a", "new")
}

func TestNameThatWentComesBack(t *testing.T) {
	p := serve(t)
	p.write("a", "1")
	p.write("d/x", "1")
	p.watch()
	p.must(os.Rename(p.at("a"), p.at("a.old")))
	p.wantFirst(dirty(str, "a"), false, "a")
	p.wantFirst(rescan(""), false, "a", "a.old")
	p.wantList("a", "d/x")
	p.must(os.Rename(p.at("a.old"), p.at("a")))
	p.wantApply(dirty(watcher.Settled, "a", "a.old"), false)
	p.must(os.RemoveAll(p.at("d")))
	p.wantFirst(dirty(str, "d"), false, "d")
	p.wantApply(dirty(str|watcher.Settled, "d"), true, "d/", "d/x")
}

// A temporary file that a save leaves no trace of changes nothing.
func TestSaveThroughAVisibleNameIsOneUpdate(t *testing.T) {
	p := serve(t)
	p.write("a", "1")
	p.watch()
	p.write("a.tmp", "22")
	p.wantFirst(dirty(cont, "a.tmp"), false, "a.tmp")
	p.must(os.Rename(p.at("a.tmp"), p.at("a")))
	p.wantApply(dirty(cont, "a"), false, "a")
	p.wantFirst(dirty(cont|str|watcher.Settled, "a.tmp"), false)
	p.wantList("a")
}

// A checkout is no save: its names beyond 256 in a batch count at once.
func TestNamesBeyond256InABatchCountAtOnce(t *testing.T) {
	p := serve(t)
	p.watch()
	var names []string
	for i := range 300 {
		name := "f" + strconv.Itoa(i)
		p.write(name, "x")
		names = append(names, name)
	}
	c, reply := p.Root.Apply(dirty(cont, names...))
	if !c.List || len(c.Keys) != 300-256 || len(reply.Unsettled) != 256 {
		t.Errorf("list %v, %d keys, %d unsettled", c.List, len(c.Keys), len(reply.Unsettled))
	}
}

// Rules that change show and hide at once what they say.
func TestRulesNeedNoSecondLook(t *testing.T) {
	p := serve(t)
	p.write(".gitignore", "hid\n")
	p.write("hid", "1")
	p.write("seen", "1")
	p.watch()
	p.write(".gitignore", "seen\n")
	c, reply := p.Root.Apply(dirty(cont, ".gitignore"))
	if !c.List || len(c.Keys) != 2 || len(reply.Unsettled) > 0 {
		t.Errorf("%v, unsettled %q", c, reply.Unsettled)
	}
	p.wantList("hid")
}

// What is settled counts also where its directory is listed again in the same batch.
func TestSettledInADirectoryListedAgain(t *testing.T) {
	p := serve(t, "a", "d/b").watch()
	p.remove("a")
	p.remove("d")
	b := dirty(str|watcher.Settled, "a", "d")
	b.Rescan = []string{""}
	p.wantFirst(b, true)
	p.wantList()
}

// An ignore file that is away for a moment goes on hiding; what it hides is shown once it is known to be gone.
func TestIgnoreFileAwayForAMoment(t *testing.T) {
	for _, b := range []watcher.Batch{rescan(""), rescan("d"), dirty(str, "d/.gitignore"), dirty(attr, "d/.gitignore")} {
		p := serve(t, "d/hid", "d/seen", "d/out/x")
		p.write("d/.gitignore", "hid\nout/\n")
		p.write("d/.mcpignore", "# none\n")
		p.watch()
		p.rename("d/.gitignore", "d/.gitignore~")
		p.wantFirst(b, false, "d/.gitignore")
		p.wantList("d/seen")
		p.rename("d/.gitignore~", "d/.gitignore")
		p.wantFirst(dirty(watcher.Settled, "d/.gitignore"), false)
		p.wantList("d/seen")
		p.remove("d/.gitignore")
		p.wantFirst(b, false, "d/.gitignore")
		c, reply := p.Root.Apply(dirty(watcher.Settled, "d/.gitignore"))
		if !c.List || !slices.Equal(reply.Rewalk, []string{"d"}) || len(reply.Unsettled) > 0 {
			t.Errorf("%v: %+v, %+v", b, c, reply)
		}
		p.wantList("d/hid", "d/seen", "d/out/x")
	}
}

// However much comes and goes in the batch.
func TestIgnoreFileAwayAmongManyNewNames(t *testing.T) {
	p := serve(t, "d/hid", "d/seen")
	p.write("d/.gitignore", "hid\n")
	p.watch()
	names := []string{"d/.gitignore"}
	for i := range 300 {
		names = append(names, "a"+strconv.Itoa(i))
		p.write(names[1+i], "x")
	}
	p.rename("d/.gitignore", "d/.gitignore~")
	_, reply := p.Root.Apply(dirty(cont, names...))
	if slices.Contains(p.list(), "d/hid") || !slices.Contains(reply.Unsettled, "d/.gitignore") {
		t.Errorf("list %q", p.list())
	}
}

// One that was removed and is known to be shows what it hid at once, listed again or not.
func TestIgnoreFileSettledAndGone(t *testing.T) {
	for _, dirs := range [][]string{nil, {""}} {
		p := serve(t, "d/hid", "d/seen")
		p.write("d/.gitignore", "hid\n")
		p.watch()
		p.remove("d/.gitignore")
		b := dirty(str|watcher.Settled, "d/.gitignore")
		b.Rescan = dirs
		p.wantFirst(b, true)
		p.wantList("d/hid", "d/seen")
	}
}
