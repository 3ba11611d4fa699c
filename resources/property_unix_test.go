//go:build unix

package resources

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// TestApplyFollowsTheDisk: after any random operations and a batch that names what they touched, or says only that
// anything may have changed, or both, the list equals an independent walk of the disk, every changed file is named, no
// unchanged one is, List tells exactly whether the set differs, and the watcher is asked to walk again wherever Skip
// would answer differently now.
func TestApplyFollowsTheDisk(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { storm(t, seed, 30, flags{}) })
	}
}

// TestApplyFollowsTheDiskWithFlags: the same for what flags select; and reads, Explain, Skip and Resolve agree with the list.
func TestApplyFollowsTheDiskWithFlags(t *testing.T) {
	for seed := range uint64(40) {
		f := randomFlags(rand.New(rand.NewPCG(seed, 2)))
		t.Run(fmt.Sprintf("%d %+v", seed, f), func(t *testing.T) { storm(t, seed, 15, f) })
	}
}

func storm(t *testing.T, seed uint64, rounds int, f flags) {
	p := serve(t, "a", "d/a", "d/e/a", ".v1/x", ".v2/x", "..data -> .v1", "l -> ..data/x", "k -> d/a")
	s := newStorming(p, seed)
	if f != (flags{}) {
		p.selected(f)
		s.dirs = append(s.dirs, ".h", "d/.h", ".v1", "d/out")
	}
	p.watch()
	before := p.shot()
	for round := range rounds {
		s.begin()
		var log []string
		s.ask()
		for range 1 + s.rand.IntN(6) {
			log = append(log, s.step())
			if s.rand.IntN(3) == 0 {
				s.ask()
			}
		}
		var b watcher.Batch
		blind, told := s.rand.IntN(3) == 0, s.rand.IntN(5) > 0
		if blind || !told {
			blind = true
			b.Rescan = []string{""}
		}
		if told {
			b.Dirty = s.dirty()
		}
		keys, list, rewalk := p.applyAll(b)
		after := p.shot()
		s.check(before, after, keys, list, blind, told)
		s.checkSkip(rewalk)
		if f != (flags{}) && round%3 == 0 {
			s.checkEach(f, after)
		}
		if t.Failed() {
			t.Fatalf("round %d, blind %v\noperations: %s\nbatch: %v\nkeys: %q\nrewalk: %q", round, blind, strings.Join(log, "; "), b, keys, rewalk)
		}
		before = after
	}
}

// TestBaselinesBeforeLoad: what changes between a baseline and the first batch is named, whatever becomes of it.
func TestBaselinesBeforeLoad(t *testing.T) {
	for seed := range uint64(40) {
		p := serve(t, "a", "d/a", "d/e/a", ".v1/x", ".v2/x", "..data -> .v1", "l -> ..data/x", "k -> d/a")
		s := newStorming(p, seed)
		var all []string
		for _, dir := range []string{"", "d", "d/e", "f", "out"} {
			for _, name := range names {
				if fi, err := os.Lstat(p.at(join(dir, name))); err != nil || !fi.IsDir() { // a directory's baseline waits
					all = append(all, "test://"+join(dir, name))
				}
			}
		}
		before := p.shot()
		p.cat.Baseline(context.Background(), all)
		var log []string
		for range 8 {
			log = append(log, s.step())
		}
		p.load()
		log = append(log, "load")
		for range s.rand.IntN(3) {
			log = append(log, s.step())
		}
		keys, _, _ := p.applyAll(rescan(""))
		after := p.shot()
		for path := range union(before, after) {
			if b, a := before[path], after[path]; b.differs(a) && slices.Contains(all, "test://"+path) && !slices.Contains(keys, path) {
				t.Errorf("%q changed and is not named:\n%+v\n%+v", path, b, a)
			}
		}
		if got := slices.Sorted(slices.Values(p.list())); !slices.Equal(got, slices.Sorted(maps.Keys(after))) {
			t.Errorf("list %q\ndisk %q", got, slices.Sorted(maps.Keys(after)))
		}
		if t.Failed() {
			t.Fatalf("seed %d\noperations: %s\nkeys: %q", seed, strings.Join(log, "; "), keys)
		}
	}
}

func newStorming(p *place, seed uint64) *storming {
	s := &storming{place: p, rand: rand.New(rand.NewPCG(seed, 1)), linked: map[uint64]bool{}, dirs: []string{"d", "d/e", "f", "out"}}
	s.begin()
	return s
}

type storming struct {
	*place
	rand  *rand.Rand
	said  map[string]watcher.Evidence
	inode map[uint64]bool     // whose change time moved for another reason than a write
	wrote map[uint64][]string // by which names an inode was written to
	skip  map[string]bool     // what Skip last answered, as far as a watcher would go by it
	n     int
	dirs  []string // where operations fall, besides the root

	linked map[uint64]bool // inodes that ever had two names: with one that is not served, the change time moves unseen
}

func (s *storming) begin() {
	s.said, s.inode, s.skip = map[string]watcher.Evidence{}, map[uint64]bool{}, map[string]bool{}
	s.wrote = map[uint64][]string{}
}

func (s *storming) dirty() (out []watcher.Dirty) {
	for path, ev := range s.said {
		out = append(out, watcher.Dirty{Path: path, Evidence: ev})
	}
	s.rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// ask asks Skip for every directory, as a watcher does, which keeps to its first answer.
func (s *storming) ask() {
	s.must(filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || path == s.dir {
			return err
		}
		rel, _ := filepath.Rel(s.dir, path)
		answer := s.Skip(rel)
		if _, asked := s.skip[rel]; !asked {
			s.skip[rel] = answer
		}
		if answer {
			return filepath.SkipDir
		}
		return nil
	}))
}

func (s *storming) checkSkip(rewalk []string) {
	for dir, was := range s.skip {
		if fi, err := os.Lstat(s.at(dir)); err != nil || !fi.IsDir() || s.Skip(dir) == was {
			continue
		}
		if !slices.ContainsFunc(rewalk, func(r string) bool { return r == "" || r == dir || strings.HasPrefix(dir, r+"/") }) {
			s.t.Errorf("Skip(%q) was %v, and rewalk is %q", dir, was, rewalk)
		}
	}
}

// checkEach holds what is said of each path on the disk, and of some that are not there, to the rules.
func (s *storming) checkEach(f flags, after map[string]seen) {
	s.eachPath(func(rel string, isDir bool) {
		fi, err := os.Lstat(s.at(rel))
		s.must(err)
		was, want := after[rel]
		want = want || isDir && f.shows(s.dir, rel, true)
		c, err := s.read(escape(rel))
		e := s.Explain(context.Background(), rel)
		if (err == nil) != want || e.Served != want || err == nil && !isDir && string(c.Data) != was.content {
			s.t.Errorf("%q (%v) should be served: %v; read: %v, %+v", rel, fi.Mode(), want, err, e)
		}
		if e.At != rel && !strings.HasPrefix(rel, e.At+"/") {
			s.t.Errorf("%q is explained at %q", rel, e.At)
		}
		if isDir && s.Skip(rel) == want {
			s.t.Errorf("Skip(%q) = %v", rel, want)
		}
		if _, err := s.cat.Resolve("test://" + escape(rel)); err != nil && want {
			s.t.Errorf("%q does not resolve", rel)
		}
		if none := join(rel, "e"); isDir && !s.exists(none) && s.Skip(none) == f.shows(s.dir, none, true) {
			s.t.Errorf("Skip(%q) = %v", none, s.Skip(none))
		}
	})
}

func (p *place) exists(rel string) bool {
	_, err := os.Lstat(p.at(rel))
	return err == nil
}

func (p *place) applyAll(b watcher.Batch) (keys []string, list bool, rewalk []string) {
	c, reply := p.Apply(b)
	for _, k := range c.Keys {
		rel, _ := p.Root.base.relOf(k)
		keys = append(keys, rel)
	}
	return keys, c.List, reply.Rewalk
}

// seen is what an observer of the disk knows of a listed file.
type seen struct {
	ino      uint64
	nlink    uint64
	size     int64
	mtime    time.Time
	content  string
	resolved string
}

// differs: whoever reads the file notices, or should be told.
func (b seen) differs(a seen) bool {
	return a.ino != b.ino || a.size != b.size || !a.mtime.Equal(b.mtime) || a.content != b.content
}

func (s *storming) check(before, after map[string]seen, keys []string, list, blind, told bool) {
	t := s.t.(*testing.T)
	got := s.list()
	if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, slices.Sorted(maps.Keys(after))) {
		t.Errorf("list %q\ndisk %q", sorted, slices.Sorted(maps.Keys(after)))
	}
	if !slices.IsSortedFunc(got, listOrder) {
		t.Errorf("out of order: %q", got)
	}
	differs := false
	touched := map[uint64]bool{} // inodes of what was written to
	for path := range s.said {
		if s.said[path]&watcher.Content != 0 {
			if fi, err := os.Stat(s.at(path)); err == nil {
				touched[fi.Sys().(*syscall.Stat_t).Ino] = true
			}
		}
	}
	hidden := func(rel string) bool {
		_, inB := before[rel]
		_, inA := after[rel]
		return !inA && !inB
	}
	// Which inode a hidden name had is not known once it has another, so that one's other names are not held to the rule.
	lost := func(ino uint64) bool {
		return slices.ContainsFunc(s.wrote[ino], func(rel string) bool {
			fi, err := os.Lstat(s.at(rel))
			return rel == "" || hidden(rel) && (err != nil || fi.Sys().(*syscall.Stat_t).Ino != ino)
		})
	}
	for _, path := range slices.Sorted(maps.Keys(union(before, after))) {
		b, inB := before[path]
		a, inA := after[path]
		differs = differs || inA != inB
		named := slices.Contains(keys, path)
		changed := inA != inB || b.differs(a)
		// without a word of it, a change time that moved under an equal mode may be a write; with it, it may not
		stirred := blind && (s.linked[a.ino] || s.inode[a.ino] && (!told || s.said[path]&attr == 0))
		excused := touched[a.ino] || s.said[path]&watcher.Content != 0 || stirred
		if max(a.nlink, b.nlink) > 1 && (lost(a.ino) || hidden(strings.TrimPrefix(a.resolved, s.dir+"/"))) {
			continue
		}
		if changed && !named {
			t.Errorf("%q changed and is not named:\n%+v\n%+v", path, b, a)
		}
		if named && !changed && !excused {
			t.Errorf("%q is named and did not change (%v)\n%+v\n%+v", path, s.said[path], b, a)
		}
	}
	if differs != list {
		t.Errorf("the set differs: %v, List: %v", differs, list)
	}
}

// listOrder: a directory's files before its subdirectories, both in byte order.
func listOrder(a, b string) int {
	for {
		as, ar, aDir := strings.Cut(a, "/")
		bs, br, bDir := strings.Cut(b, "/")
		switch {
		case aDir != bDir && aDir:
			return +1
		case aDir != bDir:
			return -1
		case as != bs || !aDir:
			return strings.Compare(as, bs)
		}
		a, b = ar, br
	}
}

func union(a, b map[string]seen) map[string]seen {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// say notes an event. What a watcher knows of a directory that comes or goes it learns again.
func (s *storming) say(ev watcher.Evidence, paths ...string) {
	for _, p := range paths {
		s.said[p] |= ev
		maps.DeleteFunc(s.skip, func(dir string, _ bool) bool { return dir == p || strings.HasPrefix(dir, p+"/") })
	}
}

// stir notes that the change time of x moves without a write.
func (s *storming) stir(fi fs.FileInfo) { s.inode[fi.Sys().(*syscall.Stat_t).Ino] = true }

// through notes that x was written to, by no name at all if its directory is not watched.
func (s *storming) through(x string) {
	fi, err := os.Lstat(s.at(x))
	s.must(err)
	if dir, _ := split(x); s.Skip(dir) {
		x = ""
	}
	ino := fi.Sys().(*syscall.Stat_t).Ino
	s.wrote[ino] = append(s.wrote[ino], x)
}

var names = []string{"a", "b", "c", "k", "l", "d", "e", "f", "out", "x.log", ".h", "s.pem"}

// rewrite writes as many bytes as there are, and makes sure that the clock has moved.
func (s *storming) rewrite(rel string) {
	was, err := os.Lstat(s.at(rel))
	s.must(err)
	for now := was; now.ModTime().Equal(was.ModTime()); {
		s.n++
		text := fmt.Sprintf("%0*d", max(int(was.Size()), 1), s.n)
		s.must(os.WriteFile(s.at(rel), []byte(text[len(text)-int(was.Size()):]), 0o644))
		now, err = os.Lstat(s.at(rel))
		s.must(err)
	}
}

// text is never of the same length twice, so that a change shows even when clocks are coarse.
func (s *storming) text() string {
	s.n++
	return strings.Repeat("x", s.n)
}

func (s *storming) pick(names ...string) string { return names[s.rand.IntN(len(names))] }

// path returns a path whose directory exists.
func (s *storming) path() string {
	dirs := []string{""}
	for _, d := range s.dirs {
		if fi, err := os.Lstat(s.at(d)); err == nil && fi.IsDir() {
			dirs = append(dirs, d)
		}
	}
	return join(s.pick(dirs...), s.pick(names...))
}

// step does one operation and says of it what inotify would.
func (s *storming) step() string {
	x, y := s.path(), s.path()
	fx, _ := os.Lstat(s.at(x))
	fy, _ := os.Lstat(s.at(y))
	isDir := func(fi fs.FileInfo) bool { return fi != nil && fi.IsDir() }
	isFile := func(fi fs.FileInfo) bool { return fi != nil && fi.Mode().IsRegular() }
	switch s.rand.IntN(17) {
	case 0, 1:
		if fx != nil && !isFile(fx) {
			break
		}
		s.write(x, s.text())
		s.through(x)
		s.say(cont, x)
		return "write " + x
	case 2:
		if isDir(fy) || isDir(fx) {
			break
		}
		s.write(".tmp", s.text())
		s.must(os.Rename(s.at(".tmp"), s.at(y)))
		s.say(cont|str, ".tmp")
		s.say(cont, y)
		return "save " + y
	case 3:
		if fx == nil {
			break
		}
		s.remove(x)
		s.say(str, x)
		return "remove " + x
	case 4, 5:
		if fx == nil || x == y || strings.HasPrefix(y, x+"/") || strings.HasPrefix(x, y+"/") || isDir(fy) || isDir(fx) && fy != nil {
			break
		}
		s.must(os.Rename(s.at(x), s.at(y)))
		s.stir(fx)
		if fy == nil || !os.SameFile(fx, fy) { // else rename does nothing
			s.say(str, x)
			s.say(cont, y)
		}
		return "rename " + x + " " + y
	case 6:
		if fx != nil {
			break
		}
		s.must(os.Mkdir(s.at(x), 0o755))
		s.say(cont, x)
		return "mkdir " + x
	case 7:
		if !isFile(fx) {
			break
		}
		s.n++
		when := time.Unix(int64(1e9+s.n), 0)
		s.must(os.Chtimes(s.at(x), when, when))
		s.through(x)
		s.say(attr, x)
		return "touch " + x
	case 8:
		if !isFile(fx) {
			break
		}
		s.must(os.Chmod(s.at(x), fs.FileMode(0o600+s.rand.IntN(2)*0o40)))
		s.stir(fx)
		s.say(attr, x)
		return "chmod " + x
	case 9, 10:
		if fx != nil {
			break
		}
		target := s.pick("a", "b", "d", "d/a", "../a", "../../a", "nowhere", "../x", "/etc/passwd", "l", "k", "s.pem", "..data/x", "..data/../a", "e/a", ".h")
		s.must(os.Symlink(target, s.at(x)))
		s.say(cont, x)
		return "link " + x + " -> " + target
	case 11:
		s.must(os.Symlink(s.pick(".v1", ".v2", "d"), s.at("..tmp")))
		s.must(os.Rename(s.at("..tmp"), s.at("..data")))
		s.say(cont|str, "..tmp")
		s.say(cont, "..data")
		return "swap"
	case 12:
		if fx == nil && isFile(fy) {
			s.must(os.Link(s.at(y), s.at(x)))
			s.linked[fy.Sys().(*syscall.Stat_t).Ino] = true
			s.say(cont, x)
			return "hard link " + x + " " + y
		}
		if fx == nil {
			s.must(syscall.Mkfifo(s.at(x), 0o644))
			s.say(cont, x)
			return "fifo " + x
		}
	}
	return s.rareStep(x, fx)
}

func (s *storming) rareStep(x string, fx fs.FileInfo) string {
	switch s.rand.IntN(3) {
	case 0:
		if fx == nil || !fx.Mode().IsRegular() {
			break
		}
		s.rewrite(x)
		s.through(x)
		s.say(cont, x)
		return "rewrite " + x
	default:
		dir, _ := split(x)
		file := join(dir, ".gitignore")
		if s.rand.IntN(3) == 0 {
			s.remove(file)
			s.say(str, file)
			return "remove " + file
		}
		text := s.pick("*.log\n", "out\n", "e/\n", "*.log\nout/\nk\n", "d\n", "")
		s.write(file, text)
		s.say(cont, file)
		return fmt.Sprintf("write %s %q", file, text)
	}
	return "nothing"
}

func TestStormsWithPagesAndReaders(t *testing.T) {
	for _, f := range []flags{{}, {unhide: "d/e/** out/*", exclude: "b", include: "d/** a k"}} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) { stormWithReaders(t, f) })
	}
}

func stormWithReaders(t *testing.T, f flags) {
	p := serve(t, "a", "d/a", "d/e/a").selected(f).watch()
	stop := make(chan struct{})
	done := make(chan error, 2)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := listPage(context.Background(), p.cat, nil); err != nil {
				done <- err
				return
			}
		}
	}()
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			p.read("d/a") // any outcome: it comes and goes
			p.Skip("d/e")
			p.Explain(context.Background(), "d/e/l")
			p.cat.Baseline(context.Background(), []string{"test://a", "test://d"})
		}
	}()
	s := newStorming(p, 7)
	for range 150 {
		s.begin()
		s.step()
		p.Apply(watcher.Batch{Dirty: s.dirty()})
	}
	close(stop)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for id, names := range p.twins.files {
		for _, n := range names {
			if now := n.file.stat.Load(); n.file.gone.Load() || (inode{now.dev, now.ino}) != id {
				t.Errorf("%q is kept under an inode that it left", n.rel)
			}
		}
	}
	if got, want := slices.Sorted(slices.Values(p.list())), slices.Sorted(maps.Keys(p.shot())); !slices.Equal(got, want) {
		t.Errorf("list %q\ndisk %q", got, want)
	}
}
