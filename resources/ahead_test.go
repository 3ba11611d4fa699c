package resources

import (
	"context"
	"slices"
	"testing"
)

// TestReadersAreToldOfWhatTurnedBack: a reader came between two looks and found what neither of them did.
func TestReadersAreToldOfWhatTurnedBack(t *testing.T) {
	t.Run("came and went", func(t *testing.T) {
		p := serve(t, "a").watch()
		p.write("f", "x")
		p.wantText("f", "x")
		p.remove("f")
		p.wantApply(dirty(str, "f"), false, "f")
		p.wantApply(dirty(str, "f"), false)
	})
	t.Run("went and came", func(t *testing.T) {
		p := serve(t, "a", "f").watch()
		p.cat.Baseline(t.Context(), []string{"test://f"})
		p.rename("f", "g")
		p.wantAbsent("f")
		p.rename("g", "f")
		p.wantApply(dirty(attr, "f"), false, "f")
		p.wantApply(dirty(attr, "f"), false)
	})
	t.Run("hidden before it was known", func(t *testing.T) {
		p := serve(t, "a").watch()
		p.write("f", "x")
		p.wantText("f", "x")
		p.write(".gitignore", "f\n")
		p.wantApply(dirty(cont, ".gitignore", "f"), false, "f")
	})
	t.Run("replaced and put back", func(t *testing.T) {
		p := serve(t, "a", "f").watch()
		p.cat.Baseline(t.Context(), []string{"test://f"})
		p.rename("f", ".f")
		p.write("f", "other")
		p.wantText("f", "other")
		p.rename(".f", "f")
		p.wantApply(dirty(attr, "f"), false, "f")
	})
}

// TestReadersOfDirectoriesAreTold: one that was away when it was read is another one now, and no event says so.
func TestReadersOfDirectoriesAreTold(t *testing.T) {
	for _, uri := range []string{"d", "d/"} {
		p := serve(t, "a", "d/e/").watch()
		p.rename("d", "x")
		p.wantAbsent(uri)
		p.rename("x", "d")
		p.wantApply(dirty(attr, "d"), false, "d/")
		p.wantApply(dirty(attr, "d"), false)
	}
	p := serve(t, "a", "d/").watch()
	p.rename("d", "x")
	p.write("d", "text")
	p.wantText("d", "text")
	p.wantAbsent("d/", "a/")
	p.remove("d")
	p.rename("x", "d")
	p.wantApply(dirty(attr, "d", "a"), false, "d/")
}

// TestReadersAreToldOnce: what a reader found is told when it is looked at, and not again because of the reader.
func TestReadersAreToldOnce(t *testing.T) {
	p := serve(t, "a", "f").watch()
	p.cat.Baseline(t.Context(), []string{"test://f"})
	p.write("f", "new")
	p.wantText("f", "new")
	p.wantApply(dirty(attr, "a"), false) // nothing is said of f yet
	p.wantApply(dirty(cont, "f"), false, "f")
	p.wantApply(dirty(attr, "a", "f"), false)
	p.wantText("f", "new")
	p.wantAbsent("f/", "nothing")
	p.wantApply(dirty(attr, "a", "f", "nothing"), false)
	if left := p.ahead.all(); len(left) > 0 {
		t.Errorf("kept %v", left)
	}
}

// TestReadersHaveTheNetLook: what turned back without an event is found all the same, also if nobody looks for a while, and each
// read asks for a few looks only.
func TestReadersHaveTheNetLook(t *testing.T) {
	p := serve(t, "a").watch()
	rounds := p.Rounds(func(dst []string, _, _ int) ([]string, int) { return dst, 0 })
	p.write("f", "x")
	p.wantText("f", "x")
	p.remove("f")
	changed, _ := rounds.Look(context.Background(), 100)
	if !slices.Equal(changed, []string{"f"}) {
		t.Fatalf("asked for %q", changed)
	}
	p.wantApply(dirty(attr, "f"), false, "f")
	asks := func(from, to, want int) {
		for i := from; i < to; i++ {
			if changed, _ := rounds.Look(context.Background(), 100); len(changed) != want {
				t.Errorf("look %d asked for %q", i, changed)
			}
		}
	}
	p.write("f", "x")
	p.wantText("f", "x")
	asks(0, mostAsked, 1)
	p.remove("f")
	p.wantApply(dirty(attr, "f"), false, "f")
	p.write("f", "x")
	p.wantText("f", "x")
	asks(0, mostAsked, 1)
	asks(mostAsked, mostAsked+3, 0)
}

func TestReadsAheadAreBounded(t *testing.T) {
	var x ahead
	for i := range mostAhead {
		x.note(string(rune('a'+i%26))+string(rune(i)), nil)
	}
	if x.note("one more", nil) || len(x.all()) != mostAhead {
		t.Errorf("%d are kept", len(x.all()))
	}
}
