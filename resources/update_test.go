package resources

import (
	"context"
	"errors"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// TestWhoReadsOrListensIsKnown, so that what may be slow to find changes makes haste.
func TestWhoReadsOrListensIsKnown(t *testing.T) {
	p := serve(t, "f").load()
	asked := 0
	p.cat = NewCatalogue(&CatalogueOptions{Asked: func() { asked++ }}, p.Root)
	if _, err := p.cat.Read(t.Context(), "test://f", nil); err != nil || asked != 1 {
		t.Errorf("asked %d times by a read, %v", asked, err)
	}
	if p.cat.Baseline(t.Context(), []string{"test://f"}); asked != 2 {
		t.Errorf("asked %d times by a baseline", asked-1)
	}
}

// TestAnswersFromTheIndexAreUpToDate: before each, what happened on disk is applied; before the content of a file it need not
// be.
func TestAnswersFromTheIndexAreUpToDate(t *testing.T) {
	p := serve(t, "f", "d/g", "d/h", "e/i").load()
	updates := 0
	var late string // made when the index is brought up to date, as its event would be taken then
	p.cat = NewCatalogue(&CatalogueOptions{PageSize: 3, Update: func(context.Context) {
		updates++
		if late != "" {
			p.make(late)
			late = ""
		}
		p.Apply(watcher.Batch{Rescan: []string{""}})
		p.Apply(watcher.Batch{Dirty: []watcher.Dirty{{Path: "n", Evidence: watcher.Settled}}, Rescan: []string{""}})
	}}, p.Root)
	want := func(what string, n int) {
		t.Helper()
		if updates != n {
			t.Errorf("%s: %d updates, not %d", what, updates, n)
		}
		updates = 0
	}

	late = "n"
	page, err := listPage(t.Context(), p.cat, nil)
	if err != nil || len(page.Resources) != 3 || page.Resources[1].Name != "n" {
		t.Errorf("the first page is %+v, %v", page.Resources, err)
	}
	want("a page", 1)
	if _, err := listPage(t.Context(), p.cat, &page.NextCursor); err != nil {
		t.Error(err)
	}
	want("another page", 0)
	bad := "bad"
	if _, err := listPage(t.Context(), p.cat, &bad); !errors.Is(err, mcp.ErrBadCursor) {
		t.Error(err)
	}
	want("a bad cursor", 0)

	late = "e/k/l"
	if c, err := p.cat.Read(t.Context(), "test://e/", nil); err != nil || string(c.Data) != "test://e/i\r\ntest://e/k/\r\n" {
		t.Errorf("a directory is %q, %v", c.Data, err)
	}
	want("a directory", 1)
	if _, err := p.cat.Read(t.Context(), "test://f", nil); err != nil {
		t.Error(err)
	}
	want("a file", 0)
	late = "o/"
	if c, err := p.cat.Read(t.Context(), "test://o/", nil); err != nil || len(c.Data) > 0 {
		t.Errorf("a new directory is %q, %v", c.Data, err)
	}
	want("a new directory", 1)
	var absent *mcp.NotFoundError
	if _, err := p.cat.Read(t.Context(), "test://x", nil); !errors.As(err, &absent) {
		t.Error(err)
	}
	want("nothing", 1)

	late = "q/"
	if c, err := p.cat.Complete(t.Context(), "test://{+path}", "q"); err != nil || len(c.Values) != 1 {
		t.Errorf("completed are %q, %v", c.Values, err)
	}
	want("a completion", 1)
	p.cat.Complete(t.Context(), "no template", "q")
	want("another template", 0)
}
