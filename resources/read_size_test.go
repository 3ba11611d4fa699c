package resources

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// TestDirectoryTextIsMeasuredFirst: the size that is compared with the limit is that of the text, to the byte, and one
// that is too large is never made.
func TestDirectoryTextIsMeasuredFirst(t *testing.T) {
	p := serve(t, "d/a b", "d/é", "d/e/f", "d/plain")
	p.load()
	c, err := p.read("d")
	p.must(err)
	size := int64(len(c.Data))
	p.open(&Options{Base: "test://", MaxSize: size})
	p.load()
	if c, err := p.read("d"); err != nil || int64(len(c.Data)) != size || cap(c.Data) < len(c.Data) {
		t.Errorf("%q, %v", c.Data, err)
	}
	p.open(&Options{Base: "test://", MaxSize: size - 1})
	p.load()
	var large *mcp.TooLargeError
	if _, err := p.read("d"); !errors.As(err, &large) || large.Size != size || large.Limit != size-1 {
		t.Errorf("%v", err)
	}
	for i := range 2000 {
		p.make(fmt.Sprintf("many/%04d", i))
	}
	p.open(&Options{Base: "test://", MaxSize: 1})
	p.load()
	d, _ := p.tree.descend("many")
	if d.files.len() != 2000 {
		t.Fatal(d.files.len())
	}
	if n := testing.AllocsPerRun(10, func() { p.read("many") }); n > 50 {
		t.Errorf("%v allocations", n)
	}
}
