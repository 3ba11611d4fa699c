package storm

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	stormSeed  = flag.Uint64("storm.seed", 0, "the first seed; 0: a fixed handful")
	stormCount = flag.Int("storm.count", 1, "with -storm.seed, how many seeds from that one on")
	stormKeep  = flag.Bool("storm.keep", false, "keep the trees of storms that fail")
	stormRace  = flag.Bool("storm.race", false, "build the program with the race detector")
	stormMount = flag.Bool("storm.mount", false, "mount and unmount too; to be run in a namespace of mounts that nobody else has")
	stormOther = flag.String("storm.program", "", "test this program, which every user can run, instead of building it")
	stormQueue = flag.Int("storm.queue", 0, "let the kernel keep so many events for the program; needs root, and all processes that begin to watch in the same moment have it too")
)

// variant is a way to run the program.
type variant struct {
	name    string
	as      user
	command func(program string) []string // before the program's own arguments
	args    []string
	promise time.Duration // within which all is told once the last operation is done
	lossy   bool          // see round
	stalls  bool          // the program stands still during some rounds, so that the kernel drops events
	limit   int           // of watches; 0: enough, -1: it needs none
	rounds  int           // at most
}

// polled is the promise where directories are looked at: 5 s, and some time for a busy machine.
const polled = 8 * time.Second

var binary string // the program

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		if binary = *stormOther; binary != "" {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "storm")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil {
			panic(err)
		}
		binary = filepath.Join(dir, "mcp-fsserve")
		args := []string{"build", "-o", binary}
		if *stormRace {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, "../../cmd/mcp-fsserve")...).CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
		return m.Run()
	}())
}

// TestSourcesAreKnown makes the program's sources inputs of the test, so that a cached result of it is not taken for that of
// another program.
func TestSourcesAreKnown(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		n++
		_, err = os.Stat(path)
		return err
	})
	if err != nil || n < 50 {
		t.Fatalf("%d sources, %v", n, err)
	}
}

func variants(t *testing.T) []variant {
	self := user{uint32(os.Getuid()), uint32(os.Getgid())}
	nobody := self
	if self.uid == 0 {
		nobody = user{65534, 65534}
	}
	all := []variant{
		{name: "plain", as: self, promise: 4 * time.Second},
		{name: "unprivileged", as: nobody, promise: 4 * time.Second},
		{name: "overflow", as: self, promise: 8 * time.Second, lossy: true, stalls: true},
	}
	if out, err := exec.Command("unshare", "-Ur", "true").CombinedOutput(); err == nil {
		all = append(all, variant{name: "exhausted", as: self, promise: polled, lossy: true, limit: 6, rounds: 3,
			command: func(program string) []string {
				return []string{"unshare", "-Ur", "sh", "-c", `echo 6 >/proc/sys/user/max_inotify_watches && exec "$0" "$@"`, program}
			}})
	} else {
		t.Logf("no storm with exhausted watches, as there are no user namespaces: %v %s", err, out)
	}
	help, err := exec.Command(binary, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(help), "--poll") {
		all = append(all, variant{name: "polling", as: self, args: []string{"--poll"}, promise: polled, lossy: true, limit: -1, rounds: 3})
	}
	return all
}

// TestStorm plays storms against the program. What each writer does follows from the seed; who comes first does not.
func TestStorm(t *testing.T) {
	for _, v := range variants(t) {
		seeds := []uint64{1, 2}
		if v.name == "plain" {
			seeds = []uint64{1, 2, 3, 4}
		}
		if *stormSeed != 0 {
			seeds = nil
			for i := range *stormCount {
				seeds = append(seeds, *stormSeed+uint64(i))
			}
		}
		t.Run(v.name, func(t *testing.T) {
			for _, seed := range seeds {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					play(t, seed, v)
					if t.Failed() {
						t.Logf("play it again: go test ./internal/storm -run 'TestStorm/%s' -storm.seed %d", v.name, seed)
					}
				})
			}
		})
	}
}

// TestMountStorm plays storms that mount and unmount, where nobody else sees it.
func TestMountStorm(t *testing.T) {
	if *stormMount {
		return // it is the one that TestMountStorm runs
	}
	const apart = "-Urm"
	if out, err := exec.Command("unshare", apart, "true").CombinedOutput(); err != nil {
		t.Logf("no storm that mounts, as there are no namespaces: %v %s", err, out)
		return
	}
	seed, count := *stormSeed, *stormCount
	if seed == 0 {
		seed, count = 1, 2
	}
	out, err := exec.Command("unshare", apart, os.Args[0], "-test.run=^TestStorm$/^plain$", "-test.v", "-storm.mount", "-storm.program", binary,
		"-storm.seed", fmt.Sprint(seed), "-storm.count", fmt.Sprint(count)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "held to the moment") {
		t.Errorf("%v\n%s", err, out)
	}
}

// storm is one run of the program.
type storm struct {
	*testing.T
	variant
	rng           *rand.Rand
	seed          uint64
	base, root    string
	hot           []string
	program       *program
	host          *host
	second        *listen
	view          *view
	past          []*round // of which something may still have to be told
	open          int
	resident      int64
	slowest       time.Duration
	rounds, deeds int
	effective     int // of deeds: those without an error
	asked, late   int // its walks, and those that took too long to hold the server to them
	told, rest    int // updates; subscriptions of a round that nothing could have changed
}

func (s *storm) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func play(t *testing.T, seed uint64, v variant) {
	s := &storm{T: t, variant: v, seed: seed, rng: rand.New(rand.NewPCG(seed, 0))}
	s.prepare()
	s.begin()
	n := 2 + s.rng.IntN(6)
	if v.rounds > 0 {
		n = min(n, v.rounds)
	}
	for i := range n {
		if s.round(i); t.Failed() {
			return
		}
		if i == 0 {
			var err error
			s.open, _, err = s.program.descriptors()
			s.must(err)
			s.resident, err = s.program.resident()
			s.must(err)
		}
		if s.rng.IntN(3) == 0 {
			s.listenAnew()
		}
	}
	s.finish()
	t.Logf("%d rounds, %d operations of which %d did something, %d updates, %d times none since nothing had changed, %d of %d walks held to the moment, %d files at the end, all known within %v",
		s.rounds, s.deeds, s.effective, s.told, s.rest, s.asked-s.late, s.asked, len(s.view.files), s.slowest.Round(time.Millisecond))
}

// prepare makes a tree. It is deep, so that no link leads far.
func (s *storm) prepare() {
	dir, err := os.MkdirTemp("", fmt.Sprintf("storm-%s-%d-", s.name, s.seed))
	s.must(err)
	s.Cleanup(func() {
		if s.Failed() && *stormKeep {
			s.Logf("the tree is in %s", dir)
			return
		}
		unlock(dir)
		if *stormMount {
			unmount(dir)
		}
		os.RemoveAll(dir)
	})
	s.must(os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	s.must(err)
	s.base = filepath.Join(dir, "1/2/3/base")
	s.root = filepath.Join(s.base, "in")
	s.must(os.MkdirAll(filepath.Join(s.base, "out"), 0o755))
	for _, root := range []string{s.root, filepath.Join(s.base, "spare")} {
		s.must(os.MkdirAll(filepath.Join(root, "keep/deep"), 0o755))
		for _, c := range calm {
			s.must(os.WriteFile(filepath.Join(root, c), []byte("calm"), 0o644))
		}
	}
	s.hot = hotPaths(s.rng)
	p := s.planner(0, 99)
	ops := slices.DeleteFunc(p.ops(30+p.IntN(100), mixed), func(o op) bool { return strings.Contains(o.kind, "ignore") })
	for i := range ops {
		ops[i].pause = 0
	}
	for _, h := range s.hot {
		ops = append(ops, op{kind: "grow", x: path.Dir(h), y: h, text: p.token()})
	}
	(&writer{base: s.base, id: 99, log: &journal{written: map[uint64]bool{}}}).play(ops)
}

// unlock makes all directories below dir ones that can be removed.
func unlock(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
}

// unmount unmounts all below dir.
func unmount(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		for err == nil && e.IsDir() && syscall.Unmount(path, syscall.MNT_DETACH) == nil {
		}
		return nil
	})
}

func (s *storm) planner(round, writer int) *planner {
	return &planner{Rand: rand.New(rand.NewPCG(s.seed, uint64(round)<<8|uint64(writer)+1)), writer: writer, count: round * 1_000_000, hot: s.hot, mounts: *stormMount && round > 0}
}

func (s *storm) look() *view {
	v, err := lookAt(s.root, s.as)
	s.must(err)
	return v
}

func (s *storm) begin() {
	args := []string{binary}
	if s.command != nil {
		args = s.command(binary)
	}
	args = append(args, "--page-size", fmt.Sprint(1+s.rng.IntN(30)), "--log-level", "debug")
	restore := func() {}
	if *stormQueue > 0 {
		restore = shorten(s.T, *stormQueue)
		defer restore() // also if the test ends here
	}
	s.program = start(s.T, s.as, append(append(args, s.args...), s.root)...)
	if *stormQueue > 0 {
		s.await("has a queue", func() bool { return s.program.watches() || s.said(deaf)() })
	}
	restore()
	s.host = newHost(s.program, s.root)
	s.view = s.look()
	p := s.planner(0, 98)
	paths := slices.Clone(calm)
	listed := s.view.list()
	for range 10 {
		paths = append(paths, listed[p.IntN(len(listed))])
	}
	paths = append(paths, s.hot...)
	for range 15 {
		paths = append(paths, p.path())
	}
	for range 3 {
		paths = append(paths, p.folder()+"/")
	}
	if p.IntN(2) == 0 {
		paths = append(paths, "keep/", "a/")
	}
	paths = slices.DeleteFunc(paths, func(p string) bool {
		return strings.Contains("/"+p, "/.") || strings.Contains(p, ".pem")
	})
	slices.Sort(paths)
	paths = slices.Compact(paths)
	_, err := s.host.open(true, paths)
	s.must(err)
	p.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	s.second, err = s.host.open(false, append(paths[:len(paths)/3], elsewhere...))
	s.must(err)
	if s.rng.IntN(2) == 0 { // else the storm begins while it still starts
		s.await("watches", s.said(watching))
	}
}

// watching is what the program logs when it has gone over everything once.
const watching = "the directory is watched"

// elsewhere are URIs that only the second listen asks for.
var elsewhere = []string{"elsewhere/f.txt", "calm.txt/", "keep"}

func (s *storm) said(words string) func() bool {
	return func() bool { return strings.Contains(s.program.said.String(), words) }
}

// await waits until the program does something.
func (s *storm) await(what string, does func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !does(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("the program never %s but said %s", what, s.program.said.String())
		}
	}
}

// listenAnew takes the place of the last listen.
func (s *storm) listenAnew() {
	h := s.host
	var paths []string
	for p := range s.view.files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	s.rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	paths = paths[:min(len(paths), 20)]
	l, err := h.open(s.rng.IntN(2) == 0, paths)
	s.must(err)
	h.cancel(s.second.id)
	s.second = l
}

func (s *storm) round(i int) {
	p := s.planner(i+1, 97)
	r := &round{journal: &journal{written: map[uint64]bool{}}, before: s.view}
	r.lossy = s.lossy || *stormQueue > 0 || !s.said(watching)()
	r.mood = mood(p.IntN(int(moods)))
	s.host.mu.Lock()
	for _, l := range s.host.listens {
		l.listTold = 0
		for _, sub := range l.subs {
			sub.told = 0
		}
	}
	s.host.mu.Unlock()
	stalls := s.stalls && p.IntN(3) > 0
	if stalls {
		s.must(s.program.cmd.Process.Signal(syscall.SIGSTOP))
	}
	r.start = time.Now()
	var writers sync.WaitGroup
	most := []int{2, 8, 30, 120, 400}[p.IntN(5)]
	for w := range 1 + p.IntN(4) {
		ops := s.planner(i+1, w).ops(1+p.IntN(most), r.mood)
		writers.Go(func() { (&writer{base: s.base, id: w, log: r.journal}).play(ops) })
	}
	if stalls {
		writers.Go(s.fillQueue)
	}
	s.fallBack()
	if s.limit == 0 && !stalls && r.mood != still && r.mood != rooting && s.said(watching)() {
		own := &own{storm: s, log: r.journal, rng: s.planner(i+1, 95), there: map[string]bool{}}
		for p := range s.view.beneath(ownDir) { // another root may have come
			own.there[p] = true
		}
		writers.Go(own.play)
	}
	writers.Wait()
	r.end = time.Now()
	if stalls {
		s.must(s.program.cmd.Process.Signal(syscall.SIGCONT))
	}
	slices.SortFunc(r.deeds, func(a, b deed) int { return a.start.Compare(b.start) })
	r.after = s.look()
	s.settle(i, r)
	r.lossy = r.lossy || s.lossy || s.said("events were lost")() // another process may have cut the queue
	for _, f := range r.excess(s.host, s.past) {
		s.Errorf("round %d: %s", i, f)
	}
	s.view = r.after
	s.past = append(slices.DeleteFunc(s.past, func(p *round) bool { return time.Since(p.end) > s.promise }), r)
	s.host.mu.Lock()
	for _, l := range s.host.listens {
		for _, sub := range l.subs {
			s.told += sub.told
			if !r.may(sub.path) {
				s.rest++
			}
		}
	}
	s.host.mu.Unlock()
	s.rounds++
	s.deeds += len(r.deeds)
	for _, d := range r.deeds {
		if d.err == nil {
			s.effective++
		}
	}
}

// fillQueue makes more events than the kernel keeps, in a place where nothing is served.
func (s *storm) fillQueue() {
	for i := range 18_000 {
		at := filepath.Join(s.root, ".queue."+fmt.Sprint(i%2))
		if err := os.WriteFile(at, nil, 0o644); err != nil && !os.IsNotExist(err) { // the root may be away
			s.Error(err)
			return
		}
	}
}

// settle waits until the host knows what is on the disk. The promise is kept or not by a clock that stands still while this
// process does not run for want of a processor, since the program does not run then either.
func (s *storm) settle(i int, r *round) {
	const step = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += step {
		s.fallBack()
		problem := r.problem(s.host)
		if problem == "" {
			problem = s.watches(r)
		}
		took := time.Since(r.end)
		if problem == "" {
			s.slowest = max(s.slowest, took)
			break
		}
		if waited > s.promise {
			s.Errorf("round %d, %v, %d operations: %v later: %s", i, r.mood, len(r.deeds), took, problem)
			s.Logf("the program said\n%s", tail(s.program.said.String()))
			return
		}
		time.Sleep(step)
	}
	s.host.mu.Lock()
	for _, f := range s.host.faults {
		s.Errorf("round %d: %s", i, f)
	}
	s.host.mu.Unlock()
}

// deaf is what the program logs when other processes have all queues of events that a user may have.
const deaf = "the system gives no notifications"

// fallBack asks no more than polling promises of a program that cannot do better.
func (s *storm) fallBack() {
	if s.limit == 0 && s.said(deaf)() {
		s.limit, s.lossy, s.promise = -1, true, max(s.promise, polled)
	}
}

func tail(text string) string {
	const most = 3000
	return text[max(0, len(text)-most):]
}

// watches compares the kernel's watches with the directories that are visible.
func (s *storm) watches(r *round) string {
	_, watched, err := s.program.descriptors()
	s.must(err)
	const own = 2 // watches of the program for itself
	switch {
	case s.limit < 0:
		return ""
	case s.limit > 0:
		if len(watched) > s.limit+own {
			return fmt.Sprintf("%d watches, of %d", len(watched), s.limit)
		}
		return ""
	}
	wanted := map[uint64]bool{}
	for dir, ino := range r.after.dirs {
		if wanted[ino] = true; watched[ino] == 0 {
			return fmt.Sprintf("%q is not watched", dir)
		}
	}
	extra := 0
	for ino := range watched {
		if !wanted[ino] {
			extra++
		}
	}
	if extra > own+s.hidden(r.after) {
		return fmt.Sprintf("%d watches for %d directories", len(watched), len(wanted))
	}
	return ""
}

// hidden counts the directories that may be watched or not: those that cannot be listed, and what is in them.
func (s *storm) hidden(v *view) (n int) {
	for dir := range v.shut {
		_ = filepath.WalkDir(filepath.Join(s.root, dir), func(_ string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				n++
			}
			return nil
		})
	}
	return n
}

// finish asks for everything without being told, and ends the program. What the host knew it may have known by chance.
func (s *storm) finish() {
	asked := time.Now()
	for problem := s.differs(); problem != ""; problem = s.differs() {
		if time.Since(asked) > s.promise {
			s.Errorf("%v later: %s", time.Since(asked), problem)
			break
		}
	}
	open, _, err := s.program.descriptors()
	s.must(err)
	if open > s.open+4 {
		s.Errorf("%d descriptors, after the first round %d", open, s.open)
	}
	resident, err := s.program.resident()
	s.must(err)
	if growth := resident - s.resident; growth > 64<<20 {
		s.Errorf("memory grew by %d MiB", growth>>20)
	}
	s.host.mu.Lock()
	for _, f := range s.host.faults {
		s.Error(f)
	}
	s.host.ended = true
	s.host.mu.Unlock()
	if err := s.program.end(); err != nil {
		s.Errorf("%v\n%s", err, tail(s.program.said.String()))
	}
}

// differs says what the program answers otherwise than it is on the disk.
func (s *storm) differs() string {
	var want []string
	for _, p := range s.view.list() {
		want = append(want, s.host.uri(p))
	}
	slices.Sort(want)
	got := s.host.walk()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return "the list: " + difference(got, want)
	}
	pl := s.planner(0, 96)
	paths := s.view.list()
	for range 50 {
		paths = append(paths, pl.path())
	}
	for _, p := range paths {
		if got, want := s.host.read(s.host.uri(p)), wanted(s.host, s.view, p); !agrees(got, want) {
			return fmt.Sprintf("%q reads %.200q, want %.200q", p, got, want)
		}
	}
	return ""
}

// shorten makes the queue of the kernel short for whoever begins to watch. A process of its own sets it back, also when this
// one is killed.
func shorten(t *testing.T, n int) (restore func()) {
	const name = "/proc/sys/fs/inotify/max_queued_events"
	queueing.Lock()
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	guard := exec.Command("sh", "-c", `read _; printf %s "$1" >"$2"`, "sh", strings.TrimSpace(string(was)), name)
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := guard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(fmt.Sprint(n)), 0); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		in.Close()
		if err := guard.Wait(); err != nil {
			t.Error(err)
		}
		queueing.Unlock()
	})
}

var queueing sync.Mutex // held while the queue is short
