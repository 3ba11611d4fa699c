package resources

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

func TestContentEvidence(t *testing.T) {
	p := serve(t, "a", "b", "d/a").watch()
	p.wantApply(dirty(cont, "a"), false, "a") // even if nothing differs: it was written to
	p.write("d/a", "other")
	p.wantApply(dirty(cont, "d/a"), false, "d/a")
	p.write("new", "x")
	p.wantApply(dirty(cont, "new"), true, "new")
	p.remove("b")
	p.wantApply(dirty(cont, "b"), true, "b")
	p.wantApply(dirty(cont|str, "never"), false)
	p.wantApply(dirty(cont, "d/none/x"), false)
	p.wantList("a", "new", "d/a")
}

func TestStructureEvidence(t *testing.T) {
	p := serve(t, "a", "b").watch()
	p.wantApply(dirty(str, "a"), false) // moved away and back
	p.write("tmp", "x")
	p.rename("tmp", "b")
	p.wantApply(dirty(str, "b"), false, "b") // replaced
	p.rename("a", "c")
	p.wantApply(dirty(str, "a", "c"), true, "a", "c")
	p.wantList("b", "c")
}

func TestAttributeEvidence(t *testing.T) {
	p := serve(t, "a").watch()
	p.must(os.Chmod(p.at("a"), 0o600))
	p.wantApply(dirty(attr, "a"), false)
	when := time.Unix(1e9, 0)
	p.must(os.Chtimes(p.at("a"), when, when))
	p.wantApply(dirty(attr, "a"), false, "a")
	p.wantApply(dirty(attr, "a"), false)
	p.must(os.Chmod(p.at("a"), 0o644))
	p.wantApply(rescan(""), false) // a chmod whose notification was lost
}

// TestNamesEvidence: the directory is listed, what is new in it looked through, and nothing else looked at.
func TestNamesEvidence(t *testing.T) {
	const names = watcher.Names | attr
	p := serve(t, "a", "b", "d/a", "d/e/b")
	p.write(".gitignore", "x")
	p.watch()
	for _, f := range []string{"new", "d/new", "d/e/new", "n/o/p", "x"} {
		p.make(f)
	}
	p.write("a", "other")
	p.remove("b")
	p.wantApply(dirty(names, ""), true, "b", "n/", "n/o/", "n/o/p", "new")
	p.wantApply(dirty(names, ""), false)
	p.wantList("a", "new", "d/a", "d/e/b", "n/o/p")
	p.wantApply(dirty(names, "d"), true, "d/new")
	p.wantApply(dirty(names, "d", "d/e"), true, "d/e/new")
	p.write("d/.gitignore", "new")
	p.wantApply(dirty(names, "d"), true, "d/e/new", "d/new")
}

// TestTouchOfADirectory: nothing in it is looked at. A lost notification may have the directory looked through besides.
func TestTouchOfADirectory(t *testing.T) {
	for _, dir := range []string{"", "d"} {
		p := serve(t, "a", "d/a").watch()
		when := time.Unix(1e9, 0)
		p.must(os.Chtimes(p.at(dir), when, when))
		p.make("d/unnoticed")
		p.wantApply(dirty(attr, dir), false)
		p.remove("d/unnoticed")
		b := dirty(attr, dir)
		b.Rescan = []string{dir}
		p.wantApply(b, false)
	}
}

// TestChmodOfATree: chmod -R that changes no mode, told of by events and, beyond that, as a loss.
func TestChmodOfATree(t *testing.T) {
	p := serve(t, "d/a", "d/b", "d/c").watch()
	for _, name := range []string{"d/a", "d/b", "d/c"} {
		p.chmodAgain(name)
	}
	b := dirty(attr, "d", "d/a", "d/b")
	b.Dirty = append(b.Dirty, watcher.Dirty{Path: "d/c", Evidence: attr | str})
	b.Rescan = []string{"d"}
	p.wantApply(b, false)
	p.write("d/a", "content of d/b") // as long as before
	p.wantApply(rescan("d"), false, "d/a")
}

func TestAtomicSave(t *testing.T) {
	p := serve(t, "f").watch()
	p.write("f.tmp", "new")
	p.rename("f.tmp", "f")
	p.wantApply(dirty(cont, "f"), false, "f")
	p.wantApply(dirty(cont|str, "f.tmp"), false)
	p.wantText("f", "new")
}

func TestRescanFindsEverything(t *testing.T) {
	p := serve(t, "a", "b", "d/a", "d/b", "e/a").watch()
	p.wantApply(rescan(""), false)
	p.write("a", "longer than before")
	p.remove("d/b")
	p.write("d/n/x", "x")
	p.rename("e", "f")
	p.wantApply(rescan("d"), true, "d/b", "d/n/", "d/n/x")
	p.wantApply(rescan(""), true, "a", "e/", "e/a", "f/", "f/a")
	p.wantList("a", "b", "d/a", "d/n/x", "f/a")
	p.write("d/n/x", "longer") // what appeared was looked at
	p.wantApply(rescan(""), false, "d/n/x")
}

func TestRescanOfWhatIsGone(t *testing.T) {
	p := serve(t, "d/e/a").watch()
	p.wantApply(rescan("x/y", "d/e/z", ".hidden"), false)
	p.remove("d")
	p.wantApply(rescan("d/e"), true, "d/e/", "d/e/a")
}

func TestTypeSwaps(t *testing.T) {
	p := serve(t, "x").watch()
	p.remove("x")
	p.make("x/a", "x/b/c")
	p.wantApply(dirty(cont|str, "x"), true, "x", "x/", "x/a", "x/b/", "x/b/c")
	p.wantList("x/a", "x/b/c")
	p.remove("x")
	p.make("x")
	p.wantApply(dirty(cont, "x", "x/a"), true, "x", "x/", "x/a", "x/b/", "x/b/c")
	p.wantList("x")
	p.remove("x")
	p.write("x", "content of x")
	p.wantApply(dirty(cont|str, "x"), false, "x") // deleted and written again
}

func TestDirectoriesMove(t *testing.T) {
	p := serve(t, "d/a", "d/e/b", "g").watch()
	outside := t.TempDir()
	p.must(os.Rename(p.at("d"), outside+"/d"))
	p.wantApply(dirty(str, "d"), true, "d/", "d/a", "d/e/", "d/e/b")
	p.wantList("g")
	p.must(os.Rename(outside+"/d", p.at("h")))
	b := dirty(cont, "h")
	b.Rescan = []string{"h"}
	p.wantApply(b, true, "h/", "h/a", "h/e/", "h/e/b")
	p.wantList("g", "h/a", "h/e/b")
	p.rename("h", "i")
	p.wantApply(watcher.Batch{Dirty: []watcher.Dirty{{Path: "h", Evidence: str}, {Path: "i", Evidence: cont}}, Rescan: []string{"i"}},
		true, "h/", "h/a", "h/e/", "h/e/b", "i/", "i/a", "i/e/", "i/e/b")
	p.write("i/e/b", "y")
	p.wantApply(dirty(cont, "i/e/b"), false, "i/e/b")
}

// TestNestedCreationSeenFromBelow: the event for the outer directory may come late or not at all.
func TestNestedCreationSeenFromBelow(t *testing.T) {
	p := serve(t).watch()
	p.make("a/b/c/f", "a/g")
	p.wantApply(dirty(cont, "a/b/c/f"), true, "a/", "a/b/", "a/b/c/", "a/b/c/f", "a/g")
	p.wantApply(rescan("a"), false)
}

func TestHiddenIsNeverAnnounced(t *testing.T) {
	p := serve(t, "a", ".h", ".d/x", "k.pem").watch()
	p.write(".h", "y")
	p.write(".d/y", "y")
	p.write("k.pem", "y")
	p.wantApply(dirty(cont, ".h", ".d", ".d/y", "k.pem"), false)
	p.rename("a", ".a")
	p.wantApply(dirty(cont|str, "a", ".a"), true, "a")
	p.rename(".a", "a")
	p.wantApply(dirty(cont|str, "a", ".a"), true, "a")
}

func TestBaselineTellsTouchFromNothing(t *testing.T) {
	p := serve(t, "a", "b").load()
	p.cat.Baseline(context.Background(), []string{"test://a", "test://none", "other://a"})
	for _, name := range []string{"a", "b"} {
		p.write(name, "longer than it was")
	}
	p.wantApply(rescan(""), false, "a") // nobody has asked for b
}

// TestBaselineBeforeLoad: what was taken before Load came to the file counts.
func TestBaselineBeforeLoad(t *testing.T) {
	p := serve(t, "a", "d/a", "d/.h")
	p.cat.Baseline(context.Background(), []string{"test://a", "test://d/a", "test://d/.h"})
	p.write("d/a", "longer than it was")
	p.wantApply(rescan(""), false, "d/a")
	if len(p.early) != 0 {
		t.Errorf("kept: %v", p.early)
	}
}

func TestBaselineOfADirectoryWaits(t *testing.T) {
	p := serve(t, "d/a", "d/e/b", "z")
	done := make(chan struct{})
	go func() {
		p.cat.Baseline(context.Background(), []string{"test://d"})
		close(done)
	}()
	p.load()
	<-done
	for _, name := range []string{"d/a", "d/e/b", "z"} {
		p.write(name, "longer than it was")
	}
	p.wantApply(rescan(""), false, "d/a", "d/e/b")
}

func TestApplyBeforeLoad(t *testing.T) {
	p := serve(t, "a", "d/a")
	p.wantApply(dirty(cont, "a"), false, "a")
	p.wantList("a", "d/a")
}

// TestBigBatchIsOnePass: the directory's list is built once for all of a batch.
func TestBigBatchIsOnePass(t *testing.T) {
	p := serve(t)
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("f%03d", i))
		p.write(want[i], "x")
	}
	p.watch()
	var b watcher.Batch
	for i := range 300 {
		name := fmt.Sprintf("f%03dx", i)
		p.write(name, "x")
		b.Dirty = append(b.Dirty, watcher.Dirty{Path: name, Evidence: cont})
		want = append(want, name)
		if i%3 == 0 {
			p.remove(want[i])
			b.Dirty = append(b.Dirty, watcher.Dirty{Path: want[i], Evidence: str})
			want[i] = ""
		}
	}
	want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
	slices.Sort(want)
	keys, list := p.apply(b)
	if len(keys) != 400 || !list {
		t.Errorf("%d keys, list %v", len(keys), list)
	}
	p.wantList(want...)
}

func TestReplacedDirectory(t *testing.T) {
	p := serve(t, "d/a", "d/b").watch()
	p.rename("d", "old")
	p.make("d/a", "d/c")
	p.remove("old")
	p.wantApply(dirty(cont|str, "d"), true, "d/a", "d/b", "d/c")
}
