package resources

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"
)

// TestAFileCostsTheIndexLittle: 100 bytes at most, names of 20 bytes included, and 64 for its state.
func TestAFileCostsTheIndexLittle(t *testing.T) {
	const files = 200_000
	p := serve(t)
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	var l listing
	for i := range files {
		l.entries = append(l.entries, entry{fmt.Sprintf("a file number %06d", i), regular})
	}
	p.learn(p.tree, "", l)
	l = listing{}
	if each := (live() - before) / files; each > 80 {
		t.Errorf("%d bytes for each file", each)
	}
	if n := p.tree.files.len(); n != files || p.tree.file("a file number 199999") == nil {
		t.Errorf("%d files", n)
	}
	if size := unsafe.Sizeof(stat{}); size > 64 {
		t.Errorf("%d bytes for the state of a file", size)
	}
}
