//go:build unix

package resources_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// TestRootsComeAndGo: a real watcher finds that a missing root has come, with all in it, and has gone: each is one change of
// the list.
func TestRootsComeAndGo(t *testing.T) {
	for name, step := range map[string]struct {
		root       string
		come, goes func(e *coming) error
	}{
		"renamed": {"r",
			func(e *coming) error { return os.Rename(e.at("new"), e.at("r")) },
			func(e *coming) error { return os.Rename(e.at("r"), e.at("new")) }},
		"with what is above": {"up/above/r",
			func(e *coming) error {
				err := os.MkdirAll(e.at("next/above"), 0o755)
				if err == nil {
					err = os.Rename(e.at("new"), e.at("next/above/r"))
				}
				if err == nil {
					err = os.Rename(e.at("next"), e.at("up"))
				}
				return err
			},
			func(e *coming) error {
				err := os.Rename(e.at("up/above/r"), e.at("new"))
				if err == nil {
					err = os.RemoveAll(e.at("up"))
				}
				return err
			}},
		"behind a link": {"link",
			func(e *coming) error { return os.Symlink("new", e.at("link")) },
			func(e *coming) error { return os.Remove(e.at("link")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newComing(t, step.root)
			for range 2 {
				e.must(step.come(e))
				e.await("x/a", "x/b", "x/d/c")
				// What is told of a name that comes now is told after all that is still to be said of the rest.
				e.must(os.WriteFile(e.at(step.root+"/marker"), nil, 0o644))
				e.await("x/a", "x/b", "x/d/c", "x/marker")
				e.must(os.Remove(e.at(step.root + "/marker")))
				e.await("x/a", "x/b", "x/d/c")
				e.must(step.goes(e))
				e.await()
			}
		})
	}
}

// coming is a root that is missing, watched, beside one that is there.
type coming struct {
	t       *testing.T
	dir     string
	cat     *resources.Catalogue
	changes chan resources.Change
	lists   int // changes of the list so far
	awaited int // that there should have been
}

func newComing(t *testing.T, root string) *coming {
	e := &coming{t: t, dir: t.TempDir(), changes: make(chan resources.Change)}
	for _, f := range []string{"present/p", "new/a", "new/b", "new/d/c", "new/.hid"} {
		e.must(os.MkdirAll(filepath.Dir(e.at(f)), 0o755))
		e.must(os.WriteFile(e.at(f), []byte(f), 0o644))
	}
	roots, err := resources.OpenRoots([]resources.Spec{{Dir: e.at("present")}, {Name: "x", Dir: e.at(root)}}, nil)
	e.must(err)
	e.cat = resources.NewCatalogue(nil, roots...)
	for _, r := range roots {
		t.Cleanup(func() { r.Close() })
		e.must(r.Load(t.Context()))
		e.watch(r)
	}
	return e
}

func (e *coming) watch(r *resources.Root) {
	w, err := watcher.New(r.Dir(), &watcher.Options{Skip: r.Skip})
	e.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- w.Run(ctx, func(b watcher.Batch) watcher.Reply {
			c, reply := r.Apply(b)
			select {
			case e.changes <- c:
			case <-ctx.Done():
			}
			return reply
		})
	}()
	e.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Error(err)
		}
	})
	<-e.changes
}

// await takes changes until the list has changed once more, and is as it should be.
func (e *coming) await(files ...string) {
	e.t.Helper()
	e.awaited++
	files = append([]string{"present/p"}, files...)
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		page, err := resources.ListPage(e.t.Context(), e.cat, nil)
		e.must(err)
		var got []string
		for _, r := range page.Resources {
			got = append(got, r.Name)
		}
		slices.Sort(got)
		if e.lists >= e.awaited && slices.Equal(got, files) {
			break
		}
		select {
		case c := <-e.changes:
			if c.List {
				e.lists++
			}
		case <-deadline.C:
			e.t.Fatalf("list %q, want %q", got, files)
		}
	}
	if e.lists > e.awaited {
		e.t.Fatalf("the list changed %d times too often before it was %q", e.lists-e.awaited, files)
	}
}

func (e *coming) at(rel string) string { return filepath.Join(e.dir, rel) }

func (e *coming) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}
