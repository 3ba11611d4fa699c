package resources

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// TestEntriesStayWhatTheyWere: what was copied of an entry is not changed by those after it, however many there are.
func TestEntriesStayWhatTheyWere(t *testing.T) {
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("a dir %03d/%s é%d.TxT", i/100, strings.Repeat("n", i/2), i), fmt.Sprintf("plain%d/%03d.md", i/200, i))
	}
	names = append(names, "plain0/"+strings.Repeat("l", 255))
	p := serve(t, names...)
	p.paged(len(names))
	p.load()
	var got []mcp.Resource
	var then []string
	if _, err := p.cat.List(context.Background(), nil, func(r *mcp.Resource) {
		got = append(got, *r)
		then = append(then, fmt.Sprintf("%+v", *r))
	}); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for i, r := range got {
		listed = append(listed, r.Name)
		if now := fmt.Sprintf("%+v", r); now != then[i] {
			t.Errorf("entry %d was %s, and is %s", i, then[i], now)
		}
		if want := p.Root.base.uri(r.Name); r.URI != want {
			t.Errorf("%q has the URI %q, want %q", r.Name, r.URI, want)
		}
		want := "text/plain"
		if strings.HasSuffix(r.Name, ".md") {
			want = "text/markdown"
		}
		if r.MIMEType != want {
			t.Errorf("%q is %q, want %q", r.Name, r.MIMEType, want)
		}
	}
	slices.Sort(names)
	slices.Sort(listed)
	if !slices.Equal(listed, names) {
		t.Errorf("listed %q\nwant %q", listed, names)
	}
}

// TestAPageIsMadeInFewPieces: what is known of each of 1,000 files costs no memory of its own to list.
func TestAPageIsMadeInFewPieces(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("d%d/with a space %03d.md", i/100, i))
	}
	p := serve(t, names...)
	p.paged(1000)
	p.load()
	n := 0
	page := func() {
		if _, err := p.cat.List(context.Background(), nil, func(*mcp.Resource) { n++ }); err != nil {
			t.Fatal(err)
		}
	}
	page() // takes their state
	if made := testing.AllocsPerRun(10, page); made > 100 {
		t.Errorf("%.0f pieces of memory for a page", made)
	}
	if n != 12*1000 {
		t.Errorf("%d entries", n)
	}
}
