//go:build unix

package resources

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// starved runs f while no file can be opened.
func (p *place) starved(f func()) {
	p.t.Helper()
	var old syscall.Rlimit
	p.must(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	none := old
	none.Cur = 3
	p.must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	defer func() { p.must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)) }()
	f()
}

func (p *place) applyStarved(b watcher.Batch) (c Change, retry []string) {
	p.t.Helper()
	p.starved(func() {
		var reply watcher.Reply
		c, reply = p.Apply(b)
		retry = reply.Retry
	})
	return c, retry
}

func wantWarnings(t *testing.T, log *bytes.Buffer, n int) {
	t.Helper()
	if got := strings.Count(log.String(), "ulimit -n"); got != n {
		t.Errorf("%d warnings, want %d:\n%s", got, n, log)
	}
}

// TestLoadTellsWhatItMissed: what cannot be looked at for now is told apart from what was not to be seen, or has gone.
func TestLoadTellsWhatItMissed(t *testing.T) {
	p := serve(t, "a", "d/f")
	p.starved(func() {
		if _, err := Open(p.dir, nil); !errors.Is(err, ErrUnreadable) || !errors.Is(err, syscall.EMFILE) || strings.Contains(err.Error(), p.dir) {
			t.Error(err)
		}
		p.must(p.Load(t.Context()))
	})
	if got, want := p.Missed(), (Missed{Passing: syscall.EMFILE.Error()}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	p = serve(t, "a", "d/f").load()
	if got := p.Missed(); got != (Missed{}) {
		t.Errorf("%+v", got)
	}
	for _, err := range []error{syscall.ENOENT, syscall.ENAMETOOLONG, syscall.EACCES, syscall.ENOTDIR} {
		p.miss("of "+err.Error(), err)
	}
	if got, want := p.Missed(), (Missed{Dirs: 2, Example: "of " + syscall.ENAMETOOLONG.Error(), Reason: syscall.ENAMETOOLONG.Error()}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestRetryOfNewDirectories: what cannot be listed now is named for another look, and found by it.
func TestRetryOfNewDirectories(t *testing.T) {
	p := serve(t, "a")
	log := p.logged()
	p.watch()
	p.make("d/f", "e/f")
	c, retry := p.applyStarved(watcher.Batch{Dirty: dirty(cont, "d", "e").Dirty, Rescan: []string{"d", "e"}})
	if !slices.Equal(retry, []string{"d", "e"}) || c.List {
		t.Errorf("%+v, retry %q", c, retry)
	}
	wantWarnings(t, log, 1)
	if _, retry := p.applyStarved(rescan("d", "e")); !slices.Equal(retry, []string{"d", "e"}) {
		t.Errorf("again: %q", retry)
	}
	wantWarnings(t, log, 1) // it goes on
	p.wantApply(rescan("d", "e"), true, "d/f", "e/f")
	p.wantList("a", "d/f", "e/f")
	if _, retry := p.applyStarved(rescan("d")); !slices.Equal(retry, []string{"d"}) {
		t.Errorf("retry %q", retry)
	}
	wantWarnings(t, log, 2) // it has come back
	if n := len(p.owed.again); n != 1 {
		t.Errorf("%d paths wait", n)
	}
	p.wantApply(rescan("d"), false)
	if n := len(p.owed.again); n != 0 {
		t.Errorf("%d paths wait", n)
	}
}

// TestRetryKeepsTheEvidence: a write that leaves size and time alone is told once the directory can be listed.
func TestRetryKeepsTheEvidence(t *testing.T) {
	p := serve(t, "d/a", "d/e/b").watch()
	b := dirty(cont, "d/a", "d/e/b")
	b.Rescan = []string{"d"}
	if c, retry := p.applyStarved(b); len(c.Keys) > 0 || !slices.Equal(retry, []string{"d"}) {
		t.Errorf("%+v, retry %q", c, retry)
	}
	p.wantApply(dirty(cont, "x"), false) // this says nothing of it
	p.wantApply(rescan("d"), false, "d/a", "d/e/b")
}

func TestRetryOfLoad(t *testing.T) {
	p := serve(t, "a", "d/f", "l -> d/f")
	log := p.logged()
	p.starved(func() { p.load() })
	p.wantList()
	wantWarnings(t, log, 1)
	if _, reply := p.Apply(dirty(cont, "x")); !slices.Equal(reply.Retry, []string{""}) {
		t.Errorf("retry %q", reply.Retry)
	}
	p.wantApply(rescan(""), true, "a", "d/", "d/f", "l")
	if _, reply := p.Apply(dirty(cont, "x")); len(reply.Retry) > 0 {
		t.Errorf("retry %q", reply.Retry)
	}
}

// TestRetryOfLoadIsSpared: the first batch looks at everything by itself.
func TestRetryOfLoadIsSpared(t *testing.T) {
	p := serve(t, "a")
	p.starved(func() { p.load() })
	if c, reply := p.Apply(rescan("")); !c.List || len(reply.Retry) > 0 {
		t.Errorf("%+v, %+v", c, reply)
	}
}

func TestRetryOfLinks(t *testing.T) {
	p := serve(t, "d/f", "k -> d/f").watch()
	p.must(os.Symlink("d/f", p.at("l")))
	p.write("d/f", "other")
	if c, retry := p.applyStarved(dirty(cont, "l", "d/f")); c.List || !slices.Equal(retry, []string{"k", "l"}) {
		t.Errorf("%+v, retry %q", c, retry)
	}
	p.wantApply(rescan("k", "l"), true, "k", "l")
	p.wantList("k", "l", "d/f")
}

// TestRetryIsBounded: too many paths are everything.
func TestRetryIsBounded(t *testing.T) {
	p := serve(t, "a").watch()
	var b watcher.Batch
	for i := range 1025 {
		name := "d" + strings.Repeat("x", i/100) + string(rune('a'+i%100/10)) + string(rune('0'+i%10))
		p.make(name + "/")
		b.Dirty = append(b.Dirty, watcher.Dirty{Path: name, Evidence: cont})
	}
	if _, retry := p.applyStarved(b); !slices.Equal(retry, []string{""}) {
		t.Errorf("%d paths", len(retry))
	}
}

// TestUnknownRulesHideEverything: an ignore file that cannot be read now does not mean that nothing is ignored.
func TestUnknownRulesHideEverything(t *testing.T) {
	p := serve(t, "d/a.log", "d/a.md", "e/x.log").watch()
	p.write("d/.gitignore", "*.log\n")
	c, retry := p.applyStarved(dirty(cont, "d/.gitignore"))
	if len(c.Keys) > 0 || !slices.Equal(retry, []string{"d/.gitignore"}) {
		t.Errorf("%+v, retry %q", c, retry)
	}
	p.wantApply(rescan("d/.gitignore"), true, "d/a.log")
	p.starved(func() {
		p.wantApply(dirty(cont, "d/.gitignore"), false) // the old rules stay in force
	})
	p.wantList("d/a.md", "e/x.log")
	p.make("n/a.log", "n/out/b")
	p.write("n/.gitignore", "*.log\nout/\n")
	p.starved(func() {
		if !p.judge("n/a.log", false).hidden() {
			t.Error("shown without rules")
		}
		if p.Skip("n/out") {
			t.Error("skipped for ever")
		}
	})
	p.wantRewalk(dirty(cont, "n"), "n") // Skip had no rules to go by
	p.wantList("d/a.md", "e/x.log")
}

// TestHiddenAboveWhatCannotBeListed: rules that come into force above a directory hide what the index holds of it.
func TestHiddenAboveWhatCannotBeListed(t *testing.T) {
	p := serve(t, "d/a.log", "d/a.md", "d/keep.log", "d/l.log -> a.md", "d/out/x")
	p.write("d/.gitignore", "!keep.log\n")
	p.load()
	d := p.tree.dir("d")
	above := (*scope)(nil).own("", [len(ignoreNames)]string{"*.log\nout/\n"}, nil)
	list, _ := d.remembered("d", above)
	if want := []entry{{"a.md", regular}, {"keep.log", regular}}; !slices.Equal(list, want) {
		t.Errorf("%v", list)
	}
}

// TestRetryIsNoSecondLook: that a name was settled is not held over to when it can be looked at.
func TestRetryIsNoSecondLook(t *testing.T) {
	p := serve(t, "d/a").watch()
	p.remove("d/a")
	b := dirty(str|watcher.Settled, "d/a")
	b.Rescan = []string{"d"}
	p.starved(func() { p.Root.Apply(b) })
	if ev := p.owed.again["d/a"]; ev != str {
		t.Errorf("owed: %v", p.owed.again)
	}
	p.wantFirst(rescan("d"), false, "d/a")
}

// TestReadDuringLoadWithoutDescriptors: no file is said to be absent because its directory cannot be opened.
func TestReadDuringLoadWithoutDescriptors(t *testing.T) {
	p := serve(t, "f")
	p.starved(func() {
		for _, rel := range []string{"f", "nothing"} {
			var failed *mcp.ReadError
			if _, err := p.read(rel); !errors.As(err, &failed) {
				t.Errorf("%s: %v", rel, err)
			}
		}
	})
	p.wantText("f", "content of f")
	p.wantAbsent("nothing")
}

// A directory that could not be listed may hold an ignore file, which the disk is asked for until the index knows it.
func TestReadsGoByIgnoreFilesThatTheIndexCouldNotRead(t *testing.T) {
	p := serve(t, "d/a", "d/e/b")
	p.write("d/.gitignore", "a\n")
	d := &dir{name: "d", parent: p.tree}
	p.tree.dirs, p.tree.loaded = rollOf([]*dir{d}), true
	_, in, err := p.scan("d/a", nil) // as if d had been a file, or unreadable
	in.dir = "d"
	p.learn(d, "d", listing{in: in, err: err})
	if v := verdictOn(d.in, "d", "e", true); v.by != unknown {
		t.Errorf("%+v", v)
	}
	p.wantAbsent("d/a")
	p.wantText("d/e/b", "content of d/e/b")
	if p.Skip("d/e") {
		t.Error("what is visible is not watched")
	}
	p.wantApply(dirty(cont, "d/none"), true, "d/e/", "d/e/b") // any word of it has it listed
	p.wantAbsent("d/a")
}
