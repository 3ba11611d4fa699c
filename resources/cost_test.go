package resources

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

const many = 200_000

// crowd has the index hold so many files in the root, which the disk does not.
func (p *place) crowd(files int) {
	var l listing
	for i := range files {
		l.entries = append(l.entries, entry{fmt.Sprintf("a file number %06d", i), regular})
	}
	p.learn(p.Root.tree, "", l)
}

// TestAChangeCostsNoWholeDirectory: what is new, changes or goes among 200,000 names has none of the others copied.
func TestAChangeCostsNoWholeDirectory(t *testing.T) {
	p := serve(t)
	p.crowd(many)
	p.load()
	apply := func(b watcher.Batch, list bool) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, _ := p.Root.Apply(b)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 || len(c.Keys) != len(b.Dirty) || c.List != list {
			t.Errorf("%d bytes for %v: %v", took, b, c)
		}
	}
	const settled = str | watcher.Settled
	p.make("a file number 100000 and", "zz")
	apply(dirty(settled, "a file number 100000 and", "zz"), true)
	apply(dirty(cont, "a file number 100000 and"), false)
	apply(dirty(settled, "a file number 000000", "a file number 077777"), true)
	if n := p.Root.tree.files.len(); n != many {
		t.Errorf("%d files", n)
	}
}

// TestAFileCostsTheIndexLittle: 100 bytes at most, names of 20 bytes included, and 64 for its state.
func TestAFileCostsTheIndexLittle(t *testing.T) {
	p := serve(t)
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	p.crowd(many)
	if each := (live() - before) / many; each > 80 {
		t.Errorf("%d bytes for each file", each)
	}
	if n := p.Root.tree.files.len(); n != many || p.Root.tree.file("a file number 199999") == nil {
		t.Errorf("%d files", n)
	}
	if size := unsafe.Sizeof(stat{}); size > 64 {
		t.Errorf("%d bytes for the state of a file", size)
	}
}
