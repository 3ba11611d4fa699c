//go:build unix

package resources_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

var (
	endRounds = flag.Int("endtoend.rounds", 12, "rounds of TestEndToEnd")
	endSeed   = flag.Uint64("endtoend.seed", 0, "seed of TestEndToEnd; 0: a new one")
)

// TestEndToEnd: a real watcher feeds a Root. After any random operations the list becomes what the disk holds, what is
// watched becomes what is visible, and every change of a file has been in Keys.
func TestEndToEnd(t *testing.T) { newEnd(t, endSeedOr()).play(*endRounds) }

// TestEndToEndWithFlags: the same of what flags select.
func TestEndToEndWithFlags(t *testing.T) {
	seed := endSeedOr()
	for i := range uint64(max(1, *endRounds/3)) {
		t.Run("", func(t *testing.T) { newEnd(t, seed+i, resources.RandomFlags(rand.New(rand.NewPCG(seed+i, 1)))).play(3) })
	}
}

// TestEndToEndUnheard: the same of what gives no event, told within the slow net: writes through hard links from outside,
// and whatever happens to links' targets in directories that own no watch.
func TestEndToEndUnheard(t *testing.T) {
	e := newEnd(t, endSeedOr())
	e.outside = t.TempDir()
	for _, dir := range []string{".h/i", "d/.h/i"} {
		e.write(dir + "/a")
		e.write(dir + "/b")
		e.must(os.Symlink(dir+"/a", e.at(strings.ReplaceAll(dir, "/", "-"))))
	}
	for _, f := range []string{"a", "d/a", "d/e/b"} {
		e.must(os.Link(e.at(f), filepath.Join(e.outside, fmt.Sprint("n", len(f)))))
	}
	e.play(max(1, *endRounds/3))
}

// TestEndToEndPolled: the same of a watcher that has no events.
func TestEndToEndPolled(t *testing.T) {
	e := newEnd(t, endSeedOr())
	var err error
	e.watcher, err = watcher.New(e.dir, &watcher.Options{Skip: e.root.Skip, Look: e.root.Rounds(e.asked).Look, Poll: true})
	e.must(err)
	e.play(max(1, *endRounds/3))
}

func endSeedOr() uint64 { return cmp.Or(*endSeed, uint64(time.Now().UnixNano())) }

func (e *end) play(rounds int) {
	e.baseline()
	e.run()
	for round := range rounds {
		before := e.observe()
		e.forget()
		for range 1 + e.rand.IntN(8) {
			if e.outside != "" && e.rand.IntN(2) == 0 {
				e.unheardStep()
			} else {
				e.step()
			}
		}
		after := e.observe()
		if !e.await(before.Differing(after), after.Files()) {
			e.t.Fatalf("round %d\noperations: %s\n%s", round, strings.Join(e.log, "; "), e.wrong(before.Differing(after), after.Files()))
		}
		e.log = nil
		e.baseline() // what is listed now is subscribed to
	}
}

type end struct {
	t       *testing.T
	dir     string
	rand    *rand.Rand
	root    *resources.Root
	cat     *resources.Catalogue
	watcher *watcher.Watcher
	changes chan resources.Change
	keys    map[string]bool // seen since forget
	log     []string
	n       int
	flags   resources.Flags
	dirs    []string // where operations fall
	outside string   // where hard links are written through, if not empty

	mu         sync.Mutex // guards subscribed
	subscribed []string   // keys
}

// newEnd opens a tree, with flags if there are any.
func newEnd(t *testing.T, seed uint64, flags ...resources.Flags) *end {
	t.Logf("play it again with -endtoend.seed %d", seed)
	opts := &resources.Options{Base: "test://"}
	e := &end{t: t, dir: t.TempDir(), rand: rand.New(rand.NewPCG(seed, 0)), changes: make(chan resources.Change), keys: map[string]bool{}}
	for _, f := range []string{"a", "d/a", "d/e/b", "f/out/x", "f/x.log"} {
		e.write(f)
	}
	e.dirs = []string{"", "", "d", "d/e", "f", "f/out"}
	for _, f := range flags {
		t.Logf("flags %+v", f)
		e.flags, opts = f, f.Options()
		e.dirs = append(e.dirs, ".h", "d/.h", "out", ".v1")
	}
	e.must(os.Symlink("d/a", e.at("l")))
	var err error
	e.root, err = resources.Open(e.dir, opts)
	e.must(err)
	t.Cleanup(func() { e.root.Close() })
	e.cat = resources.NewCatalogue(nil, e.root)
	e.watcher, err = watcher.New(e.dir, &watcher.Options{Skip: e.root.Skip, Look: e.root.Rounds(e.asked).Look})
	e.must(err)
	return e
}

// run starts the watcher and returns after its first batch.
func (e *end) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- e.watcher.Run(ctx, func(b watcher.Batch) watcher.Reply {
			c, reply := e.root.Apply(b)
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

// forget drops the changes told of so far, but for those that wait to be told.
func (e *end) forget() { clear(e.keys) }

// await takes changes until each of the keys was told and the list is as it should be.
func (e *end) await(keys, list []string) bool {
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	look := time.NewTicker(50 * time.Millisecond) // what is watched may change after the last batch
	defer look.Stop()
	for e.wrong(keys, list) != "" {
		select {
		case c := <-e.changes:
			for _, k := range c.Keys {
				e.keys[strings.TrimPrefix(k, "test://")] = true
			}
		case <-look.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

func (e *end) wrong(keys, list []string) string {
	for _, k := range keys {
		if !e.keys[k] {
			return fmt.Sprintf("%q changed and was never told", k)
		}
	}
	if got := e.list(); !slices.Equal(got, list) {
		return fmt.Sprintf("list %q\ndisk %q", got, list)
	}
	if got, want := e.watcher.Watched(), e.visible(); !slices.Equal(got, want) {
		return fmt.Sprintf("watched %q\nvisible %q", got, want)
	}
	return ""
}

func (e *end) list() (out []string) {
	var cursor *string
	for {
		page, err := resources.ListPage(context.Background(), e.cat, cursor)
		e.must(err)
		for _, r := range page.Resources {
			out = append(out, r.Name)
		}
		if page.NextCursor == "" {
			slices.Sort(out)
			return out
		}
		cursor = &page.NextCursor
	}
}

// visible returns the directories that Skip lets through, sorted.
func (e *end) visible() (out []string) {
	e.must(filepath.WalkDir(e.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(e.dir, path)
		if rel == "." {
			rel = ""
		} else if e.root.Skip(rel) {
			return filepath.SkipDir
		}
		out = append(out, rel)
		return nil
	}))
	slices.Sort(out)
	return out
}

func (e *end) baseline() {
	observed := e.observe()
	var keys []string
	for _, rel := range observed.Files() {
		keys = append(keys, "test://"+rel)
	}
	e.cat.Baseline(context.Background(), keys)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.subscribed = keys
}

// asked hands out what is subscribed to, in one piece or two.
func (e *end) asked(dst []string, at, n int) ([]string, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	end := len(e.subscribed)
	if at >= 0 {
		end = min(at, end)
	}
	next := max(0, end-min(n, 5))
	return append(dst, e.subscribed[next:end]...), next
}

func (e *end) observe() resources.Observed {
	o, err := resources.Observe(e.dir, e.flags)
	e.must(err)
	return o
}

func (e *end) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *end) at(rel string) string { return filepath.Join(e.dir, rel) }

func (e *end) write(rel string) {
	e.n++
	e.must(os.MkdirAll(filepath.Dir(e.at(rel)), 0o755))
	e.must(os.WriteFile(e.at(rel), []byte(strings.Repeat("x", e.n)), 0o644))
}

func (e *end) pick(names ...string) string { return names[e.rand.IntN(len(names))] }

// step does one operation, if it is possible where it falls.
func (e *end) step() {
	dir := e.pick(e.dirs...)
	x := strings.TrimPrefix(dir+"/"+e.pick("a", "b", "l", "x.log", "d", "e", "f", "out", ".h", ".v1", "s.pem"), "/")
	y := strings.TrimPrefix(e.pick("", "d", "f", "f/out")+"/"+e.pick("a", "b", "d", "e", "f", "out"), "/")
	info, err := os.Lstat(e.at(dir))
	if err != nil || !info.IsDir() {
		return
	}
	fx, _ := os.Lstat(e.at(x))
	did := ""
	switch e.rand.IntN(8) {
	case 0, 1:
		if fx == nil || fx.Mode().IsRegular() {
			e.write(x)
			did = "write " + x
		}
	case 2:
		if fx == nil || !fx.IsDir() {
			e.write(dir + "/.tmp")
			e.must(os.Rename(e.at(dir+"/.tmp"), e.at(x)))
			did = "save " + x
		}
	case 3:
		e.must(os.RemoveAll(e.at(x)))
		did = "remove " + x
	case 4:
		if os.Rename(e.at(x), e.at(y)) == nil { // else it is impossible
			did = "rename " + x + " " + y
		}
	case 5:
		if fx == nil {
			e.must(os.MkdirAll(e.at(x+"/e"), 0o755))
			e.write(x + "/e/b")
			did = "mkdir " + x
		}
	case 6:
		target := e.pick("a", "d/a", "../a", "none", "../f/a", "l", ".h")
		if os.Symlink(target, e.at(x)) == nil {
			did = "link " + x + " -> " + target
		}
	case 7:
		text := e.pick("*.log\n", "out/\n", "e\n", "")
		e.must(os.WriteFile(e.at(dir+"/.gitignore"), []byte(text), 0o644))
		did = fmt.Sprintf("ignore %q in %q", text, dir)
	}
	if did != "" {
		e.log = append(e.log, did)
	}
}

// unheardStep does something that no event tells of, if it is possible where it falls.
func (e *end) unheardStep() {
	out := filepath.Join(e.outside, e.pick("n1", "n3", "n5"))
	dir := e.pick(".h/i", "d/.h/i")
	x := dir + "/" + e.pick("a", "b", "c")
	did := ""
	switch e.rand.IntN(6) {
	case 0, 1:
		e.n++
		e.must(os.WriteFile(out, []byte(strings.Repeat("x", e.n)), 0o644))
		did = "write to the hard link " + filepath.Base(out)
	case 2:
		y := e.pick(e.dirs...) + "/" + e.pick("a", "b")
		if fi, err := os.Lstat(e.at(y)); err == nil && fi.Mode().IsRegular() {
			e.must(os.RemoveAll(out))
			e.must(os.Link(e.at(y), out))
			did = "hard link " + filepath.Base(out) + " to " + y
		}
	case 3:
		e.must(os.RemoveAll(e.at(x)))
		did = "remove " + x
	case 4:
		e.write(x)
		did = "write " + x
	case 5:
		l := e.pick("p", "q", "r")
		if os.Symlink(x, e.at(l)) == nil {
			did = "link " + l + " -> " + x
		}
	}
	if did != "" {
		e.log = append(e.log, did)
	}
}
