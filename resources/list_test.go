package resources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestListOrderAndFields(t *testing.T) {
	p := serve(t, "b.md", "a/z.go", "a/b/c", "B.txt", "a.md", "empty/")
	p.write("b.md", "12345")
	when := time.Date(2024, 3, 1, 12, 0, 0, 0, time.FixedZone("", 7200))
	p.must(os.Chtimes(p.at("b.md"), when, when))
	p.load()
	p.wantList("B.txt", "a.md", "b.md", "a/z.go", "a/b/c")
	r := p.entries()[2]
	if r.URI != "test://b.md" || r.Name != "b.md" || r.MIMEType != "text/markdown" || r.Size != 5 || r.Annotations.LastModified != "2024-03-01T10:00:00Z" {
		t.Errorf("%+v %+v", r, r.Annotations)
	}
	if r := p.entries()[4]; r.URI != "test://a/b/c" || r.Name != "a/b/c" || r.MIMEType != "text/plain" {
		t.Errorf("%+v", r)
	}
}

func TestFileURIsByDefault(t *testing.T) {
	p := serve(t, "a b.md")
	p.open(&Options{})
	p.load()
	r := p.entries()[0]
	if r.URI != fileBase(p.dir)+"a%20b.md" || r.Name != "a b.md" {
		t.Errorf("%+v", r)
	}
	if c, err := p.cat.Read(context.Background(), r.URI, nil); err != nil || c.URI != r.URI {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestPageSize(t *testing.T) {
	p := serve(t, "a", "b", "c", "d/a", "d/b")
	p.paged(2)
	p.load()
	p.wantList("a", "b", "c", "d/a", "d/b")
	page, _ := listPage(context.Background(), p.cat, nil)
	if len(page.Resources) != 2 || page.NextCursor == "" {
		t.Errorf("%+v", page)
	}
	p.paged(5)
	p.load()
	if page, _ := listPage(context.Background(), p.cat, nil); len(page.Resources) != 5 || page.NextCursor != "" {
		t.Errorf("a page that is just full: %+v", page)
	}
}

func TestPagesCrossRoots(t *testing.T) {
	a, b, c := serve(t, "x", "y", "d/z"), serve(t), serve(t, "x", "y")
	var roots []*Root
	for i, p := range []*place{a, b, c} {
		p.open(&Options{Base: []string{"test://a/", "test://b/", "test://c/"}[i]})
		p.load()
		roots = append(roots, p.Root)
	}
	cat := NewCatalogue(&CatalogueOptions{PageSize: 2}, roots...)
	var got []string
	var cursor *string
	for range 10 {
		page, err := listPage(context.Background(), cat, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Resources {
			got = append(got, r.URI)
		}
		if page.NextCursor == "" {
			break
		}
		if len(page.Resources) != 2 {
			t.Errorf("a page of %d", len(page.Resources))
		}
		cursor = &page.NextCursor
	}
	if want := []string{"test://a/x", "test://a/y", "test://a/d/z", "test://c/x", "test://c/y"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if keys, err := cat.Resolve("test://c/y"); err != nil || !slices.Equal(keys, []string{"test://c/y"}) {
		t.Errorf("%q, %v", keys, err)
	}
	if got, err := cat.Read(context.Background(), "test://c/y", nil); err != nil || string(got.Data) != "content of y" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestListOfNothing(t *testing.T) {
	p := serve(t).load()
	page, err := listPage(context.Background(), p.cat, nil)
	if err != nil || len(page.Resources) != 0 || page.NextCursor != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestListWaitsOnlyForWhatItNeeds(t *testing.T) {
	p := serve(t, "a", "b", "d/a", "e/a")
	p.paged(2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := listPage(ctx, p.cat, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing is loaded: %v", err)
	}
	// load the root and d by hand, as Load would have done half way
	for _, d := range []string{"", "d"} {
		node, _ := p.tree.descend(d)
		var l listing
		l.entries, l.in, l.err = p.scan(d, node.in)
		p.learn(node, d, l)
	}
	page, err := listPage(context.Background(), p.cat, nil)
	if err != nil || len(page.Resources) != 2 || page.NextCursor == "" {
		t.Fatalf("the first page is known: %+v, %v", page, err)
	}
	next := make(chan []string)
	go func() {
		var out []string
		page, err := listPage(context.Background(), p.cat, &page.NextCursor)
		for _, r := range page.Resources {
			out = append(out, r.Name)
		}
		if err != nil {
			out = append(out, err.Error())
		}
		next <- out
	}()
	p.load()
	if got := <-next; !slices.Equal(got, []string{"d/a", "e/a"}) {
		t.Errorf("the second page: %q", got)
	}
}

// TestReadersDuringLoad: whoever asks while Load is at work gets what it would get after.
func TestReadersDuringLoad(t *testing.T) {
	var files []string
	for i := range 300 {
		files = append(files, fmt.Sprintf("d%02d/e%d/f%03d", i/10, i%2, i))
	}
	p := serve(t, files...)
	p.write("d15/.gitignore", "*\n")
	p.paged(40)
	done := make(chan error, 3)
	go func() {
		var n int
		var cursor *string
		for {
			page, err := listPage(context.Background(), p.cat, cursor)
			n += len(page.Resources)
			if err != nil || page.NextCursor == "" {
				if n != 290 {
					err = fmt.Errorf("%d listed, %v", n, err)
				}
				done <- err
				return
			}
			cursor = &page.NextCursor
		}
	}()
	go func() {
		var failed error
		for _, f := range files {
			_, err := p.read(f)
			if hidden := strings.HasPrefix(f, "d15/"); hidden != (err != nil) || p.Skip(f[:6]) != hidden {
				failed = fmt.Errorf("%s: %v", f, err)
			}
		}
		done <- failed
	}()
	go func() {
		p.cat.Baseline(context.Background(), []string{"test://d03", "test://d20/e0/f200", "test://d15/e0/f150", "test://none"})
		done <- nil
	}()
	p.load()
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	p := serve(t, "a", "d/a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.load() // goes on where it ended
	p.wantList("a", "d/a")
}

func TestListLeavesOutWhatWentMeanwhile(t *testing.T) {
	p := serve(t, "a", "b", "c").load()
	p.remove("b")
	p.wantList("a", "c")
}

func TestOpenErrors(t *testing.T) {
	p := serve(t, "a")
	for path, want := range map[string]error{"missing": ErrMissing, "a": ErrNotDirectory, "a/b": ErrMissing} {
		_, err := Open(p.at(path), nil)
		if !errors.Is(err, want) && !(path == "a/b" && err != nil) {
			t.Errorf("%s: %v", path, err)
		}
		if strings.Contains(err.Error(), p.dir) {
			t.Errorf("%s: the error names the path: %v", path, err)
		}
	}
	if _, err := Open(p.dir, &Options{Base: "test:"}); !errors.Is(err, ErrBadBase) {
		t.Error(err)
	}
}

func TestTemplates(t *testing.T) {
	got := serve(t).cat.Templates()
	if len(got) != 1 || got[0].URITemplate != "test://{+path}" || got[0].Name == "" {
		t.Errorf("%+v", got)
	}
}
