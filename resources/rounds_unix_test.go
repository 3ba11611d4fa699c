//go:build unix

package resources

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// netted is a place with the slow net, where some paths are subscribed to.
type netted struct {
	*place
	rounds *Rounds
	asked  []string // keys
}

// net subscribes to paths, "" for the directory itself.
func (p *place) net(paths ...string) *netted {
	n := &netted{place: p}
	n.rounds = p.Rounds(n.keys)
	n.subscribe(paths...)
	n.untilQuiet() // links that lead nowhere are looked at once in any case
	return n
}

func (n *netted) subscribe(paths ...string) {
	n.asked = nil
	for _, rel := range paths {
		n.asked = append(n.asked, n.Root.base.key(rel))
	}
	n.load()
	n.cat.Baseline(context.Background(), n.asked)
}

func (n *netted) keys(dst []string, at, most int) ([]string, int) {
	end := len(n.asked)
	if at >= 0 {
		end = min(at, end)
	}
	next := max(0, end-most)
	return append(dst, n.asked[next:end]...), next
}

func (n *netted) look() []string {
	changed, _ := n.rounds.Look(context.Background(), 10_000)
	slices.Sort(changed)
	return slices.Compact(changed)
}

// round is what the watcher makes of a round.
func (n *netted) round() (keys []string, list bool) {
	n.t.Helper()
	if changed := n.look(); len(changed) > 0 {
		return n.apply(dirty(watcher.Attribute, changed...))
	}
	return nil, false
}

// wantRound wants a round to tell of these paths, and the next one of nothing more.
func (n *netted) wantRound(list bool, keys ...string) {
	n.t.Helper()
	if got, gotList := n.round(); !slices.Equal(got, keys) || gotList != list {
		n.t.Errorf("a round tells %q, list %v; not %q, list %v", got, gotList, keys, list)
	}
	if got, gotList := n.round(); len(got) > 0 || gotList {
		n.t.Errorf("another round tells %q, list %v", got, gotList)
	}
}

func (n *netted) wantQuiet() {
	n.t.Helper()
	if changed := n.look(); len(changed) > 0 {
		n.t.Errorf("another round suspects %q", changed)
	}
}

func (n *netted) untilQuiet() {
	n.t.Helper()
	for range 3 {
		n.round()
	}
	n.wantQuiet()
}

// TestRoundsFindWritesThroughAMapping: the kernel sets the times of the file with the first write to a page.
func TestRoundsFindWritesThroughAMapping(t *testing.T) {
	n := serve(t, "d/f", "g").net("d/f")
	n.old("d/f")
	f, err := os.OpenFile(n.at("d/f"), os.O_RDWR, 0)
	n.must(err)
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	n.must(err)
	m[0] = '!'
	n.must(unix.Msync(m, unix.MS_SYNC))
	n.must(unix.Munmap(m))
	n.wantRound(false, "d/f")
}

// old gives a file a time long ago, and has that known.
func (n *netted) old(rel string) {
	n.t.Helper()
	when := time.Unix(1e9, 0)
	n.must(os.Chtimes(n.at(rel), when, when))
	n.round()
}

// TestRoundsFindWritesThroughHardLinks: outside of the directory, or where nothing is watched; and tell the other names that
// are served.
func TestRoundsFindWritesThroughHardLinks(t *testing.T) {
	outside := t.TempDir()
	n := serve(t, "f", "d/g", "h", ".hidden/")
	n.net()
	n.must(os.Link(n.at("f"), outside+"/f"))
	n.must(os.Link(n.at("d/g"), n.at(".hidden/g")))
	n.must(os.Link(n.at("f"), n.at("twin")))
	net := n.net()
	net.apply(dirty(cont, "twin"))
	net.subscribe("f", "d/g", "twin", "h")
	net.untilQuiet()
	n.must(os.WriteFile(outside+"/f", []byte("through the other name"), 0o644))
	net.wantRound(false, "f", "twin")
	n.write(".hidden/g", "through the hidden name")
	net.wantRound(false, "d/g")
}

// TestRoundsFindWhatAppears at subscribed names, and look at what is hidden once.
func TestRoundsFindWhatAppears(t *testing.T) {
	n := serve(t, "d/f").ignoring(".gitignore", "*.log\n")
	n.subscribe("d/f", "d/g", "d/e/h", "a.log")
	n.make("d/g")
	n.wantRound(true, "d/g")
	n.must(os.Remove(n.at("d/g")))
	n.wantRound(true, "d/g")
	n.make("d/g")
	n.wantRound(true, "d/g")
	n.make("d/e/h")
	n.make("a.log")
	if got, want := n.look(), []string{"a.log", "d/e/h"}; !slices.Equal(got, want) {
		t.Errorf("a round suspects %q, not %q", got, want)
	}
	n.wantQuiet()
	n.must(os.Remove(n.at("a.log")))
	n.wantQuiet()
	n.make("a.log")
	if got := n.look(); !slices.Equal(got, []string{"a.log"}) {
		t.Errorf("a round suspects %q, not what is hidden and came back", got)
	}
}

// TestRoundsTellNoChmod: nor a hard link that is made outside.
func TestRoundsTellNoChmod(t *testing.T) {
	n := serve(t, "f").net("f")
	n.must(os.Link(n.at("f"), t.TempDir()+"/f"))
	n.wantRound(false)
	n.must(os.Chmod(n.at("f"), 0o600))
	n.wantRound(false)
}

// TestRoundsFollowLinksIntoUnwatchedDirectories, whoever subscribed to what.
func TestRoundsFollowLinksIntoUnwatchedDirectories(t *testing.T) {
	n := serve(t, "build/app.log", "latest.log -> build/app.log", "late -> build/late", "odd -> build/dir",
		"via -> build/current/x", "build/current -> v1", "build/v1/x", "build/v2/x", "build/dir/", "plain", "l -> plain").ignoring(".gitignore", "build/\n")
	n.wantList("l", "latest.log", "plain", "via")
	n.write("build/app.log", "a line")
	n.wantRound(false, "latest.log")
	n.must(os.Remove(n.at("build/app.log")))
	n.wantRound(true, "latest.log")
	n.wantList("l", "plain", "via")
	n.write("build/app.log", "of another size altogether")
	n.wantRound(true, "latest.log")
	if e := n.entries()[1]; e.Size != int64(len("of another size altogether")) {
		t.Errorf("the list says %+v", e)
	}
	n.write("build/late", "appears")
	n.wantRound(true, "late")
	n.remove("build/dir")
	n.write("build/dir", "a file now")
	n.wantRound(true, "odd")
	n.remove("build/current")
	n.must(os.Symlink("v2", n.at("build/current")))
	n.wantRound(false, "via")
	n.remove("build")
	n.wantRound(false) // its own name is watched, and will be told of
	n.wantApply(dirty(str, "build"), true, "late", "latest.log", "odd", "via")
	n.untilQuiet()
	n.wantList("l", "plain")
}

// TestRoundsFollowTheWholeWay: a link in a directory without a watch may lead elsewhere before what it leads to exists.
func TestRoundsFollowTheWholeWay(t *testing.T) {
	n := serve(t, "via -> .h/cur/x", "far -> .h/one", ".h/one -> two", ".h/two -> none", ".h/cur -> v1", ".h/v1/", ".h/v2/x", ".h/x").net()
	n.wantList()
	n.remove(".h/cur")
	n.must(os.Symlink("v2", n.at(".h/cur")))
	n.wantRound(true, "via")
	n.remove(".h/two")
	n.must(os.Symlink("x", n.at(".h/two")))
	n.wantRound(true, "far")
	n.wantList("far", "via")
}

// TestRoundsTakeWhatNobodyHasSeen: of a file whose state could not be taken when it was subscribed to, the next change is told.
func TestRoundsTakeWhatNobodyHasSeen(t *testing.T) {
	p := serve(t, "d/f")
	p.load()
	n := &netted{place: p, asked: []string{"test://d/f"}}
	n.rounds = p.Rounds(n.keys)
	n.wantQuiet()
	n.must(os.WriteFile(n.at("d/f"), []byte("as nobody is told"), 0o644))
	n.wantRound(false, "d/f")
}

// ignoring adds a file, opens the directory and subscribes to nothing.
func (p *place) ignoring(file, text string) *netted {
	p.write(file, text)
	p.open(nil)
	return p.net()
}

// TestRoundsBearAGap: a target that is away while it is being saved does not take its link out of the list.
func TestRoundsBearAGap(t *testing.T) {
	n := serve(t, ".hidden/f", "l -> .hidden/f").net("l")
	n.rename(".hidden/f", ".hidden/f~")
	c, reply := n.Root.Apply(dirty(attr, n.look()...))
	if len(c.Keys) > 0 || c.List || !slices.Equal(reply.Unsettled, []string{"l"}) {
		t.Errorf("told %+v, %+v before the second look", c, reply)
	}
	n.write(".hidden/f", "saved")
	c, _ = n.Root.Apply(dirty(watcher.Settled, "l"))
	if c.List || !slices.Equal(c.Keys, []string{"test://l"}) {
		t.Errorf("told %+v after the save", c)
	}
	n.wantQuiet()
}

// TestRoundsWithNothingToLookAt: then they say so, which lets the watcher rest.
func TestRoundsWithNothingToLookAt(t *testing.T) {
	p := serve(t, "f", "l -> f", "none -> nowhere")
	n := &netted{place: p}
	n.rounds = p.Rounds(n.keys)
	n.asked = []string{"test://f"}
	if _, looked := n.rounds.Look(context.Background(), 100); looked > 0 {
		t.Errorf("looked at %d before anything was known", looked)
	}
	n.load()
	n.asked = []string{"elsewhere://f"}
	if _, looked := n.rounds.Look(context.Background(), 100); looked > 0 {
		t.Errorf("looked at %d, and there was nothing", looked)
	}
}

// TestRoundsAreBounded: no round looks at more than it may, and none is left out for long.
func TestRoundsAreBounded(t *testing.T) {
	var files, subscribed []string
	for i := range 100 {
		files = append(files, fmt.Sprintf("f%d", i), fmt.Sprintf("d/%d/f", i))
		subscribed = append(subscribed, fmt.Sprintf("f%d", i))
		files = append(files, fmt.Sprintf("l%d -> .hidden/%d", i, i), fmt.Sprintf(".hidden/%d", i))
	}
	n := serve(t, files...)
	net := n.net(append(subscribed, "d", "d/7")...)
	all := append(slices.Clone(subscribed), "l3", "l99", "d/0/f", "d/50/f", "d/99/f")
	for _, rel := range all {
		n.must(os.WriteFile(n.at(rel), []byte("as nobody is told"), 0o644))
	}
	found := map[string]bool{}
	for range 40 {
		changed, looked := net.rounds.Look(context.Background(), 40)
		if looked > 40 {
			t.Fatalf("looked at %d", looked)
		}
		for _, rel := range changed {
			found[rel] = true
		}
	}
	for _, rel := range all {
		if !found[rel] {
			t.Errorf("%q was never looked at", rel)
		}
	}
}

// TestRoundsLookBeneathDirectories, also at those in the others.
func TestRoundsLookBeneathDirectories(t *testing.T) {
	outside := t.TempDir()
	n := serve(t, "a", "d/b", "d/e/c", "other/f", "z/y").net("d", "d/e", "z")
	for i, rel := range []string{"a", "d/b", "d/e/c", "other/f", "z/y"} {
		name := fmt.Sprint(outside, "/", i)
		n.must(os.Link(n.at(rel), name))
		n.must(os.WriteFile(name, []byte("written from outside"), 0o644))
	}
	n.wantRound(false, "d/b", "d/e/c", "z/y")
	if _, looked := n.rounds.Look(context.Background(), 10_000); looked != 3 {
		t.Errorf("looked at %d of 3 files", looked)
	}
	n.subscribe("")
	n.must(os.WriteFile(outside+"/0", []byte("and once more"), 0o644))
	n.wantRound(false, "a")
}

// TestRoundsCatchWhatNobodyTells: after any random operations, with the events of watched directories alone and a pass of
// the net, the list is what the disk holds, and each subscribed file that changed was told of.
func TestRoundsCatchWhatNobodyTells(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { unheardStorm(t, seed) })
	}
}

func unheardStorm(t *testing.T, seed uint64) {
	outside := t.TempDir()
	p := serve(t, "a", "d/a", "d/e/a", ".h/a", ".v1/x", ".v2/x", "..data -> .v1", "l -> ..data/x", "k -> d/a", "m -> .h/a", "d/m -> ../.h/b")
	s := newStorming(p, seed)
	s.dirs = append(s.dirs, ".h", ".v1")
	n := p.net("")
	for round := range 20 {
		before := p.shot()
		n.subscribe(slices.Collect(maps.Keys(before))...)
		s.begin()
		var log []string
		for i := range 1 + s.rand.IntN(6) {
			log = append(log, s.step(), s.outsideStep(outside, i))
		}
		b := watcher.Batch{Dirty: slices.DeleteFunc(s.dirty(), func(d watcher.Dirty) bool {
			return strings.HasPrefix(d.Path, ".h/") || strings.HasPrefix(d.Path, ".v1/")
		})}
		keys, _, _ := p.applyAll(b)
		for range 2 { // what the first pass finds may make another link lead elsewhere
			more, _ := n.round()
			keys = append(keys, more...)
		}
		after := p.shot()
		for path := range before {
			if before[path].differs(after[path]) && !slices.Contains(keys, path) {
				t.Errorf("%q changed and is not named:\n%+v\n%+v", path, before[path], after[path])
			}
		}
		if got := slices.Sorted(slices.Values(p.list())); !slices.Equal(got, slices.Sorted(maps.Keys(after))) {
			t.Errorf("list %q\ndisk %q", got, slices.Sorted(maps.Keys(after)))
		}
		if t.Failed() {
			t.Fatalf("round %d\noperations: %s\nbatch: %v\nkeys: %q", round, strings.Join(log, "; "), b, keys)
		}
	}
}

// TestRoundsGoOnWhileOthersWork: a round may come upon anything that a batch is about to change.
func TestRoundsGoOnWhileOthersWork(t *testing.T) {
	p := serve(t, "a", "d/a", "d/e/a", ".h/a", ".v1/x", ".v2/x", "..data -> .v1", "l -> ..data/x", "m -> .h/a")
	s := newStorming(p, 1)
	n := p.net("", "a", "d/a", "l", "m")
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				n.rounds.Look(context.Background(), 20)
			}
		}
	}()
	for range 200 {
		s.begin()
		s.step()
		p.applyAll(watcher.Batch{Dirty: s.dirty()})
	}
	close(done)
	<-ended
	for range 3 {
		n.round()
	}
	if got, want := slices.Sorted(slices.Values(p.list())), slices.Sorted(maps.Keys(p.shot())); !slices.Equal(got, want) {
		t.Errorf("list %q\ndisk %q", got, want)
	}
}

// outsideStep makes a hard link outside of the directory, or writes through one.
func (s *storming) outsideStep(outside string, i int) string {
	out := filepath.Join(outside, s.pick("1", "2", "3"))
	x := s.path()
	if fi, err := os.Lstat(s.at(x)); err == nil && fi.Mode().IsRegular() && i%2 == 0 {
		s.must(os.RemoveAll(out))
		s.must(os.Link(s.at(x), out))
		return "hard link outside " + x
	}
	if _, err := os.Lstat(out); err != nil {
		return "nothing"
	}
	s.must(os.WriteFile(out, []byte(s.text()), 0o644))
	return "write through " + filepath.Base(out)
}

func BenchmarkRound(b *testing.B) {
	var files []string
	for i := range 1000 {
		files = append(files, fmt.Sprintf("some/directory/file-%d.md", i))
	}
	n := serve(b, files...).net(files...)
	b.ReportAllocs()
	for b.Loop() {
		n.rounds.Look(context.Background(), 10_000)
	}
}

// BenchmarkRoundOfManyKeys: 200,000 of which none is a file here, as where another root serves them, or nobody yet.
func BenchmarkRoundOfManyKeys(b *testing.B) {
	for _, base := range []string{"test://", "other://"} {
		b.Run(base, func(b *testing.B) {
			n := serve(b).net()
			for i := range 200_000 {
				n.asked = append(n.asked, fmt.Sprintf("%ssome/directory/file-%d.md", base, i))
			}
			b.ReportAllocs()
			for b.Loop() {
				n.rounds.Look(context.Background(), 10_000)
			}
		})
	}
}

// BenchmarkRoundBeneath: one directory of 100,000 files, and one of 20,000 directories.
func BenchmarkRoundBeneath(b *testing.B) {
	for _, layout := range []string{"d/%d", "d/%d/"} {
		b.Run(layout, func(b *testing.B) {
			var files []string
			for i := range 20_000 {
				files = append(files, fmt.Sprintf(layout, i))
			}
			n := serve(b, files...).net("d")
			b.ReportAllocs()
			for b.Loop() {
				n.rounds.Look(context.Background(), 10_000)
			}
		})
	}
}

// BenchmarkUnheardLinks is what a link that changes costs where there are 20,000 others, which nobody need look at.
func BenchmarkUnheardLinks(b *testing.B) {
	var files []string
	for i := range 20_000 {
		files = append(files, fmt.Sprintf("some/directory/%d", i), fmt.Sprintf("l/%d -> ../some/directory/%d", i, i))
	}
	n := serve(b, files...).net()
	b.ReportAllocs()
	for b.Loop() {
		n.ways.Add(1)
		n.rounds.Look(context.Background(), 10_000)
	}
}
