package resources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
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

// TestReadersAreToldWhateverTheyFound: also that a file was too large, or that a link led nowhere that is served.
func TestReadersAreToldWhateverTheyFound(t *testing.T) {
	t.Run("too large", func(t *testing.T) {
		p := serve(t, "a").watch()
		p.must(os.WriteFile(p.at("f"), nil, 0o644))
		p.must(os.Truncate(p.at("f"), p.maxSize+1))
		var tooLarge *mcp.TooLargeError
		if _, err := p.read("f"); !errors.As(err, &tooLarge) {
			t.Fatal(err)
		}
		p.remove("f")
		p.wantApply(dirty(str, "f"), false, "f")
		p.wantApply(dirty(str, "f"), false)
	})
	for _, target := range []string{"../out", "l", ".env", "nothing"} {
		t.Run("a link to "+target, func(t *testing.T) {
			p := serve(t, "a", "l -> a").watch()
			p.rename("l", ".l")
			p.make("l -> "+target, ".env")
			p.wantAbsent("l")
			p.remove("l")
			p.rename(".l", "l")
			p.wantApply(dirty(attr, "l"), false, "l")
			p.wantApply(dirty(attr, "l"), false)
		})
	}
}

// TestReadersBeyondTheBoundWaitForTheIndex, which tells of what they find before they find it.
func TestReadersBeyondTheBoundWaitForTheIndex(t *testing.T) {
	p := serve(t, "a").watch()
	updates := 0
	update := func() {
		p.wantApply(watcher.Batch{Dirty: []watcher.Dirty{{Path: "f", Evidence: watcher.Settled}}}, true, "f")
	}
	p.cat = NewCatalogue(&CatalogueOptions{Update: func(context.Context) { updates++; update() }}, p.Root)
	for _, name := range []string{"f", "g"} {
		for i := range mostAhead {
			p.ahead.note(fmt.Sprint(i), nil)
		}
		p.write(name, "x")
		p.wantText(name, "x")
		p.wantText("f", "x")
		update = func() {} // does not help
	}
	if updates != 2 {
		t.Errorf("%d updates", updates)
	}
}

// TestReadersLookAgainAtWhatTurnedBack before there was a note of it, which an Apply in between could not know of.
func TestReadersLookAgainAtWhatTurnedBack(t *testing.T) {
	p := serve(t, "f", "g").watch()
	other, err := os.Lstat(p.at("g"))
	p.must(err)
	for _, found := range []*stat{newStat(other, p.who), nil} {
		var err error
		if found == nil {
			err = errAbsent
		}
		if again := p.noteRead(reading{rel: "f"}, found, err); !errors.Is(again, errMoved) {
			t.Errorf("%v: %v", found, again)
		}
	}
	p.remove("f")
	if again := p.noteRead(reading{rel: "f"}, nil, errAbsent); again != nil {
		t.Errorf("it is gone: %v", again)
	}
	if again := p.noteRead(reading{rel: "g"}, nil, needsRoom(1)); again != nil || len(p.ahead.all()) != 1 {
		t.Errorf("nothing is read yet: %v, noted %v", again, p.ahead.all())
	}
}

// TestReadersThatAreDeniedLookAgain if the permissions have changed since the look that came before.
func TestReadersThatAreDeniedLookAgain(t *testing.T) {
	p := serve(t, "f").watch()
	fi, err := os.Lstat(p.at("f"))
	p.must(err)
	found := newStat(fi, p.who)
	if again := p.noteRead(reading{rel: "f"}, found, errDenied); again != nil {
		t.Errorf("by another rule: %v", again)
	}
	p.chmodAgain("f")
	if again := p.noteRead(reading{rel: "f"}, found, errDenied); !errors.Is(again, errMoved) {
		t.Errorf("since the look: %v", again)
	}
	p.remove("f")
	if again := p.noteRead(reading{rel: "f"}, found, errDenied); !errors.Is(again, errMoved) {
		t.Errorf("gone: %v", again)
	}
}
