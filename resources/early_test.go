package resources

import (
	"context"
	"testing"
)

// TestChangesBetweenBaselineAndLoad: nothing tells of them, so Load compares and the next Apply says so.
func TestChangesBetweenBaselineAndLoad(t *testing.T) {
	p := serve(t, "d/gone", "d/touched", "d/same", "d/dir/", "hid", "l -> .v1", "dead -> later", ".v1", ".v2")
	p.cat.Baseline(context.Background(), []string{"test://d/gone", "test://d/new", "test://d/touched", "test://d/same", "test://e/deep/new",
		"test://e", "test://never", "test://hid", "test://l", "test://dead", "test://.v1"})
	p.remove("d/gone")
	p.write("d/new", "x")
	p.write("d/touched", "longer than it was")
	p.write("e/deep/new", "x")
	p.write(".gitignore", "hid\n")
	p.remove("l")
	p.make("l -> .v2")
	p.write("later", "x")
	p.load()
	if len(p.early) != 0 {
		t.Errorf("kept: %v", p.early)
	}
	p.wantApply(dirty(cont, "nothing"), false, "d/gone", "d/new", "d/touched", "dead", "e/", "e/deep/new", "hid", "l")
	p.wantApply(rescan(""), false)
}

// TestTouchBetweenBaselineAndLoad: a chmod alone is no change, whenever it comes.
func TestTouchBetweenBaselineAndLoad(t *testing.T) {
	p := serve(t, "d/a")
	p.cat.Baseline(context.Background(), []string{"test://d/a"})
	p.chmodAgain("d/a")
	p.load()
	p.wantApply(dirty(attr, "d/a"), false)
}

func TestBaselineAfterLoadOfWhatIsAbsent(t *testing.T) {
	p := serve(t, "d/a").load()
	p.cat.Baseline(context.Background(), []string{"test://d/b", "test://e/f"})
	p.make("d/b", "e/f")
	p.wantApply(rescan(""), true, "d/b", "e/", "e/f")
}
