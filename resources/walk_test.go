package resources

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// TestWalkOf30000Files: while others are created and deleted at random, in all of the roots, a walk over the pages sees each
// file that exists throughout exactly once.
func TestWalkOf30000Files(t *testing.T) {
	const lasting = 30000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	top := serve(t)
	dirs := []string{"a", "a/in", "b"} // the second is a root inside the first
	uris := make(map[string]bool, lasting)
	for i := range lasting {
		root := i % len(dirs)
		rel := path.Join(scatter(i/len(dirs)), fmt.Sprintf("f%05d.md", i))
		if i < 1000 {
			rel = path.Base(rel)
		}
		if i%100 < len(dirs) || i < 1000 {
			top.must(os.MkdirAll(path.Dir(top.at(dirs[root]+"/"+rel)), 0o755))
		}
		f, err := os.Create(top.at(dirs[root] + "/" + rel))
		top.must(err)
		f.Close()
		uris["test://"+path.Base(dirs[root])+"/"+rel] = true
	}
	roots := top.mustOpenRoots(&Options{Base: "test://"}, dirs...)
	for _, r := range roots {
		top.must(r.Load(t.Context()))
	}
	for n, size := range []int{1, 7, 250} {
		c := churn{t, rand.New(rand.NewPCG(seed, uint64(n))), roots, make(chan struct{}), make(chan struct{})}
		done := make(chan int)
		go func() { done <- c.run() }()
		pages := 0
		seen, strangers := walkWhole(t, NewCatalogue(&CatalogueOptions{PageSize: size}, roots...), uris, func() {
			if pages++; pages%max(1, 500/size) == 0 {
				<-c.applied
			}
		})
		close(c.stop)
		batches := <-done
		t.Logf("pages of %d: %d batches meanwhile, %d of their files were seen", size, batches, strangers)
		for uri := range uris {
			if seen[uri] != 1 {
				t.Fatalf("pages of %d: %s was seen %d times", size, uri, seen[uri])
			}
		}
	}
}

// scatter is the directory of the nth file: 100 to each, three deep.
func scatter(n int) string { return fmt.Sprintf("d%d/e%d", n/1000, n/100%10) }

// walkWhole counts how often each URI is on a page, and those that are not expected. It calls next after each page.
func walkWhole(t *testing.T, cat *Catalogue, expected map[string]bool, next func()) (seen map[string]int, strangers int) {
	seen = make(map[string]int, len(expected))
	var cursor *string
	for {
		page, err := listPage(t.Context(), cat, cursor)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Resources) > cat.pageSize {
			t.Fatalf("a page of %d", len(page.Resources))
		}
		for _, r := range page.Resources {
			if seen[r.URI]++; !expected[r.URI] {
				strangers++
			}
		}
		if page.NextCursor == "" {
			return seen, strangers
		}
		cursor = &page.NextCursor
		next()
	}
}

// churn creates and deletes files and directories beside those that stay.
type churn struct {
	t       *testing.T
	rand    *rand.Rand
	roots   []*Root
	stop    chan struct{} // closed when it is enough
	applied chan struct{} // given one after a batch, if somebody waits
}

// run returns how many batches it applied.
func (c *churn) run() (batches int) {
	for ; ; batches++ {
		select {
		case <-c.stop:
			return batches
		default:
		}
		r := c.roots[c.rand.IntN(len(c.roots))]
		var b watcher.Batch
		for range 1 + c.rand.IntN(8) {
			b.Dirty = append(b.Dirty, watcher.Dirty{Path: c.step(r), Evidence: cont | str | watcher.Settled})
		}
		r.Apply(b)
		select {
		case c.applied <- struct{}{}:
		default:
		}
	}
}

// step makes or removes a name that is none of those that stay, or a directory of such, and returns its path.
func (c *churn) step(r *Root) string {
	n := c.rand.IntN(10000)
	rel := fmt.Sprintf("%s/%s%05d", scatter(n), []string{"a", "f", "x"}[n%3], n/10) // before, among and behind those that stay
	made := rel
	switch n % 10 {
	case 0:
		rel = path.Base(rel)
		made = rel
	case 1:
		made = rel + "/g/h"
	}
	if _, err := os.Lstat(r.host(rel)); err == nil {
		c.check(os.RemoveAll(r.host(rel)))
		return rel
	}
	c.check(os.MkdirAll(path.Dir(r.host(made)), 0o755))
	c.check(os.WriteFile(r.host(made), nil, 0o644))
	return rel
}

func (c *churn) check(err error) {
	if err != nil {
		c.t.Error(err)
	}
}
