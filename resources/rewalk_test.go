package resources

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

func (p *place) wantRewalk(b watcher.Batch, dirs ...string) {
	p.t.Helper()
	if _, reply := p.Apply(b); !slices.Equal(reply.Rewalk, dirs) {
		p.t.Errorf("apply %v: rewalk %q, want %q", b, reply.Rewalk, dirs)
	}
}

// TestRewalkWhereSkipHadGoneByOtherRules: what Skip answers from an ignore file, before the index has read it, may not be
// what the index finds.
func TestRewalkWhereSkipHadGoneByOtherRules(t *testing.T) {
	t.Run("load", func(t *testing.T) {
		p := serve(t, "sub/hid/f", "same/hid/f")
		p.write("sub/.gitignore", "hid/\n")
		p.write("same/.gitignore", "hid/\n")
		if !p.Skip("sub/hid") || !p.Skip("same/hid") {
			t.Fatal("not skipped")
		}
		p.write("sub/.gitignore", "# none\n")
		p.load()
		p.wantRewalk(dirty(cont, "x"), "sub")
		p.wantRewalk(dirty(cont, "x"))
		p.wantList("sub/hid/f")
	})
	t.Run("a new directory", func(t *testing.T) {
		p := serve(t, "a").watch()
		p.make("sub/hid/f")
		p.write("sub/.gitignore", "hid/\n")
		if !p.Skip("sub/hid") {
			t.Fatal("not skipped")
		}
		p.write("sub/.gitignore", "# none\n")
		p.wantRewalk(dirty(cont, "sub"), "sub")
	})
	t.Run("other rules at each answer", func(t *testing.T) {
		p := serve(t, "a").watch()
		p.make("sub/hid/f", "sub/out/f")
		p.write("sub/.gitignore", "hid/\n")
		p.Skip("sub/hid")
		p.write("sub/.gitignore", "out/\n")
		p.commitNothing() // so that Skip reads again
		p.Skip("sub/out")
		p.wantRewalk(dirty(cont, "sub"), "sub")
	})
	t.Run("reads in between", func(t *testing.T) {
		p := serve(t, "a").watch()
		p.make("sub/hid/f")
		p.write("sub/.gitignore", "hid/\n")
		p.Skip("sub/hid")
		p.write("sub/.gitignore", "# none\n")
		p.commitNothing()
		p.wantText("sub/hid/f", "content of sub/hid/f") // judges by the new rules
		p.wantRewalk(dirty(cont, "sub"), "sub")
	})
	t.Run("more answers than are kept", func(t *testing.T) {
		p := serve(t, "a").watch()
		for i := range 1<<16 + 1 {
			p.mu.Lock()
			p.answer(fmt.Sprint(i), nil)
			p.mu.Unlock()
		}
		p.wantRewalk(dirty(cont, "x"), "")
		p.wantRewalk(dirty(cont, "x"))
	})
}

func (p *place) commitNothing() { (&apply{root: p.Root}).commit() }

// TestRewalkWhereverAnIgnoreFileIsWritten: even if the index knew the rules, Skip may have gone by what was there between.
func TestRewalkWhereverAnIgnoreFileIsWritten(t *testing.T) {
	p := serve(t, "d/e/a", "f/a").watch()
	p.write("d/.gitignore", "x\n")
	p.wantRewalk(dirty(cont, "d/.gitignore"), "d")
	p.wantRewalk(dirty(cont, "d/.gitignore"), "d")
	p.wantRewalk(dirty(str, "d/.mcpignore"), "d")
	p.wantRewalk(dirty(attr, "d/.gitignore"))
	b := dirty(cont, "d/.gitignore", "f/.gitignore")
	b.Rescan = []string{""} // within a directory that is listed again
	p.wantRewalk(b, "d", "f")
	p.make("g/h/a")
	p.write("g/h/.gitignore", "x\n")
	p.wantRewalk(dirty(cont, "g", "g/h/.gitignore"), "g/h") // and within a new one
}
