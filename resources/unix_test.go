//go:build unix

package resources

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

func TestSpecialFilesAreNotServed(t *testing.T) {
	p := serve(t, "f", "l -> fifo")
	p.must(syscall.Mkfifo(p.at("fifo"), 0o644))
	p.must(os.MkdirAll(p.at("d"), 0o755))
	short := filepath.Join(os.TempDir(), filepath.Base(p.dir)+".sock") // socket paths are limited to 108 bytes
	ln, err := net.Listen("unix", short)
	p.must(err)
	defer ln.Close()
	p.must(os.Symlink(short, p.at("s")))
	p.watch()
	p.wantList("f")
	p.wantAbsent("fifo", "l", "s", "fifo/")
	p.remove("f")
	p.must(syscall.Mkfifo(p.at("f"), 0o644))
	p.wantAbsent("f") // before the change is told
	p.wantApply(dirty(cont|str, "f"), true, "f")
	p.wantApply(rescan(""), false)
}

func TestLinks(t *testing.T) {
	p := serve(t, "a", "d/b", "d/up -> ../a", "l -> a", "ll -> l", "dir -> d", "gone -> nowhere", "loop -> loop", "out -> ../x", "abs -> "+os.TempDir(),
		"via -> dir/b", ".env", "env -> .env", "hid -> .hidden/x", ".hidden/x", "k.pem", "pem -> k.pem", "self -> .", "dots -> d/../a", "slash -> a/", "pemdir -> keys.pem/x", "keys.pem/x").watch()
	p.wantList("a", "dots", "hid", "l", "ll", "via", "d/b", "d/up")
	for _, name := range []string{"l", "ll", "d/up", "dots"} {
		p.wantText(name, "content of a")
	}
	p.wantText("via", "content of d/b")
	p.wantText("hid", "content of .hidden/x")
	p.wantAbsent("dir", "dir/", "dir/b", "gone", "loop", "out", "abs", "env", "pem", "self", "self/a", "slash", "pemdir")
	for _, r := range p.entries() {
		if r.Name == "l" && r.Size != int64(len("content of a")) {
			t.Errorf("%+v", r)
		}
	}
}

func TestLinksFollowTheirTargets(t *testing.T) {
	p := serve(t, "a", "l -> a", "ll -> l", "dead -> later", "h -> .h/x", ".h/x").watch()
	p.write("a", "y")
	p.wantApply(dirty(cont, "a"), false, "a", "l", "ll")
	p.write("later", "x")
	p.wantApply(dirty(cont, "later"), true, "dead", "later")
	p.remove("later")
	p.wantApply(dirty(str, "later"), true, "dead", "later")
	p.write("a.tmp", "z")
	p.rename("a.tmp", "a")
	p.wantApply(dirty(cont, "a"), false, "a", "l", "ll")
	p.remove("l")
	p.wantApply(dirty(str, "l"), true, "l", "ll")
	p.must(os.Symlink("h", p.at("l")))
	p.wantApply(dirty(cont, "l"), true, "l", "ll")
	p.wantText("ll", "content of .h/x")
	p.remove("l")
	p.write("l", "a file")
	p.wantApply(dirty(cont|str, "l"), false, "l", "ll")
	p.remove("l")
	p.must(os.Symlink("a", p.at("l")))
	p.wantApply(dirty(cont|str, "l"), false, "l", "ll")
	p.wantList("a", "h", "l", "ll")
}

// TestATargetBeingSaved: a target that is away for a moment, and of whose going no batch has told, does not take its links
// off the list.
func TestATargetBeingSaved(t *testing.T) {
	p := serve(t, "a", "l -> a").watch()
	p.rename("a", "a.bak")
	p.write("other", "x")
	p.wantApply(dirty(cont, "other"), true, "other")
	p.rename("a.bak", "a")
	p.wantApply(dirty(cont|str, "a"), false, "a", "l")
}

// TestAHiddenTargetBeingSaved: the same where the index does not hold the target.
func TestAHiddenTargetBeingSaved(t *testing.T) {
	p := serve(t, "l -> .c.md", ".c.md", "k -> .u/c", ".u/c").watch()
	p.rename(".c.md", ".c.md~")
	p.write("other", "x")
	p.wantApply(dirty(cont, "other", "l"), true, "l", "other") // the link was made anew: it leads nowhere
	p.rename(".c.md~", ".c.md")
	p.wantApply(dirty(cont, ".c.md"), true, "l")
	p.rename(".c.md", ".c.md~")
	p.wantApply(dirty(attr, "l"), false)
	p.wantList("k", "l", "other")
	p.wantApply(dirty(str, ".c.md"), true, "l") // now it was away for long enough
	p.rename(".c.md~", ".c.md")
	p.wantApply(dirty(cont, ".c.md"), true, "l")
	p.remove(".u/c")
	p.wantApply(dirty(attr, "k"), true, "k") // nobody watches there
	p.remove(".c.md")
	p.wantApply(rescan(""), true, "l") // events were lost, and none may come
	p.make(".c.md")
	p.wantApply(rescan(""), true, "l")
	p.remove("l")
	p.must(os.Symlink(".none", p.at("l")))
	p.wantApply(rescan("l"), true, "l") // never led there before
}

// TestHiddenLinksAreForgotten: one that leads nowhere when it becomes hidden is not served when its target appears.
func TestHiddenLinksAreForgotten(t *testing.T) {
	p := serve(t, "l -> target", "d/l -> ../target", "a").watch()
	p.write(".gitignore", "l\n")
	p.wantApply(dirty(cont, ".gitignore"), false)
	p.write("target", "x")
	p.wantApply(dirty(cont, "target"), true, "target")
	p.wantList("a", "target")
	p.remove(".gitignore")
	p.wantApply(dirty(str, ".gitignore"), true, "d/l", "l")
	p.remove("d")
	p.remove("l")
	p.wantApply(dirty(str, "d", "l"), true, "d/", "d/l", "l")
	if n := len(p.links.by) + len(p.links.stuck); n != 0 {
		t.Errorf("kept: %v", p.links)
	}
}

// TestOnlyConcernedLinksAreFollowed: a change costs what it concerns, however many links there are.
func TestOnlyConcernedLinksAreFollowed(t *testing.T) {
	p := serve(t, "x/y/t", "x/u", ".v1/c", "..data -> .v1", "k/", "s/d/a")
	p.write(".gitignore", "*.log\n")
	for i := range 100 {
		p.make(fmt.Sprintf("links/t%d -> ../x/y/t", i), fmt.Sprintf("links/c%d -> ../..data/c", i), fmt.Sprintf("links/n%d -> ../k/none", i))
	}
	p.watch()
	for _, test := range []struct {
		batch watcher.Batch
		want  int
	}{
		{dirty(cont, "tmp.log"), 0},
		{dirty(cont|str, "x/y/none"), 0},
		{dirty(cont, "x/u"), 0},
		{dirty(attr, "", "x", "x/y", "links"), 0},
		{dirty(cont, "s/d/a"), 0},
		{rescan("s"), 0},
		{dirty(attr, "x/y/t"), 100},
		{dirty(cont, "x/y/t"), 100},
		{dirty(str, "x"), 100},
		{rescan("x"), 100},
		{dirty(cont|str, "..data"), 100},
		{dirty(str, ".v1"), 100},
		{dirty(cont, ".v1/c"), 100},
		{dirty(cont, "k/none"), 100},
		{dirty(cont, "k/none/below"), 100},
		{dirty(cont, "k/other"), 0},
		{rescan("links"), 300},
		{rescan(""), 300},
	} {
		a := &apply{root: p.Root, hints: hintsOf(test.batch)}
		a.visit(p.tree, "", a.hints)
		a.concerned()
		if len(a.errands) != test.want {
			t.Errorf("%v: %d links, want %d", test.batch, len(a.errands), test.want)
		}
	}
}

// TestLinksThroughMovingParts: whatever lies on a link's way may change where it leads.
func TestLinksThroughMovingParts(t *testing.T) {
	p := serve(t, "a/b/t", "l -> a/b/t", "via/up -> ../l", "deep -> n/o/t", ".h/t", "h -> .h/t").watch()
	p.wantList("h", "l", "a/b/t", "via/up")
	p.rename("a/b", "a/c")
	p.wantApply(dirty(cont|str, "a/b", "a/c"), true, "a/b/", "a/b/t", "a/c/", "a/c/t", "l", "via/up")
	p.rename("a/c", "a/b")
	p.wantApply(dirty(cont|str, "a/b", "a/c"), true, "a/b/", "a/b/t", "a/c/", "a/c/t", "l", "via/up")
	p.make("n/o/t")
	p.wantApply(dirty(cont, "n/o/t"), true, "deep", "n/", "n/o/", "n/o/t") // told from below
	p.rename(".h", ".g")
	p.wantApply(dirty(str, ".h"), true, "h")
	p.make(".h/t")
	p.wantApply(dirty(cont, ".h"), true, "h")
}

func TestConfigMapSwap(t *testing.T) {
	p := serve(t, "..v1/c", "..v2/c", "..data -> ..v1", "c -> ..data/c").watch()
	p.write("..v2/c", "two")
	p.wantList("c")
	p.wantText("c", "content of ..v1/c")
	p.must(os.Symlink("..v2", p.at("..data_tmp")))
	p.rename("..data_tmp", "..data")
	p.remove("..v1")
	p.wantApply(dirty(cont|str, "..data", "..data_tmp", "..v1"), false, "c")
	p.wantText("c", "two")
}

func TestHardLinks(t *testing.T) {
	p := serve(t, "f", "x")
	p.must(os.Link(p.at("f"), p.at("g")))
	p.watch()
	p.write("g", "longer than it was")
	p.wantApply(dirty(cont, "g"), false, "f", "g")
	p.must(os.Link(p.at("x"), p.at(".x")))
	p.wantApply(dirty(attr, "x"), false)
	p.remove(".x")
	p.wantApply(dirty(attr, "x"), false)
	p.remove("g")
	p.wantApply(dirty(str, "g"), true, "g")
	p.remove("f")
	p.remove("x")
	p.wantApply(rescan(""), true, "f", "x")
	if len(p.twins.files) > 0 {
		t.Errorf("kept: %v", p.twins.files)
	}
}

// TestATwinWithoutItsFile: nothing is kept of a file that a link replaced, nor of one that a reader looked at too late.
func TestATwinWithoutItsFile(t *testing.T) {
	p := serve(t, "f", "g", "h")
	p.must(os.Link(p.at("f"), p.at(".f")))
	p.must(os.Link(p.at("h"), p.at(".h")))
	p.load()
	h := p.tree.file("h")
	p.cat.Baseline(context.Background(), []string{"test://f"})
	p.remove("f")
	p.must(os.Symlink("g", p.at("f")))
	p.wantApply(dirty(cont|str, "f"), false, "f")
	a := &apply{root: p.Root}
	a.dropFile("h", h)
	p.take(&folder{root: p.Root}, h, "h")
	if len(p.twins.files) > 0 {
		t.Errorf("kept: %v", p.twins.files)
	}
}

// TestTwinsOfHiddenNamesInAListing: evidence for a hidden name counts also where its directory is listed again, or new.
func TestTwinsOfHiddenNamesInAListing(t *testing.T) {
	p := serve(t, "f", "g")
	p.must(os.Link(p.at("f"), p.at(".twin")))
	p.watch()
	p.write(".gitignore", "*.none\n")
	p.write(".twin", "longer than it was")
	p.wantApply(dirty(cont, ".gitignore", ".twin"), false, "f")
	p.make("d/")
	p.must(os.Link(p.at("f"), p.at("d/.twin")))
	p.write("d/.twin", "even longer than it was")
	p.wantApply(dirty(cont, "d", "d/.twin"), false, "d/", "f")
}

// TestASwapBehindOurBack: a directory that was replaced by a link, of which no batch has told yet, is not looked into.
func TestASwapBehindOurBack(t *testing.T) {
	for _, native := range []bool{true, false} {
		out := t.TempDir()
		p := serve(t, "d/e/f", "z").watch()
		p.reach.native = p.reach.native && native
		p.must(os.MkdirAll(filepath.Join(out, "e"), 0o755))
		for _, name := range []string{"f", "g", "payroll"} {
			p.must(os.WriteFile(filepath.Join(out, "e", name), []byte("a secret"), 0o644))
		}
		p.rename("d", ".d")
		p.must(os.Symlink(out, p.at("d")))
		b := dirty(cont, "d/e/g", "d/e/f")
		b.Rescan = []string{"d/e"}
		p.apply(b)
		p.wantList("z")
		p.apply(dirty(cont, "d/e/new/x"))
		p.wantApply(dirty(cont|str, "d"), false, "d/")
		p.wantList("z")
	}
}

// TestServedThroughALink: links above the root are no concern, and may come to lead elsewhere.
func TestServedThroughALink(t *testing.T) {
	p := &place{t: t, dir: t.TempDir()}
	p.make("v1/a", "v1/d/a", "v2/b", "v2/d/b", "now -> v1")
	real := p.dir
	p.dir = p.at("now")
	p.open(nil)
	p.watch()
	p.wantList("a", "d/a")
	p.must(os.Remove(p.dir))
	p.must(os.Symlink("v2", p.dir))
	b := dirty(str, "")
	b.Rescan = []string{""}
	p.wantApply(b, true, "a", "b", "d/a", "d/b")
	p.must(os.Rename(filepath.Join(real, "v2"), filepath.Join(real, "v3")))
	p.must(os.Symlink("v3", filepath.Join(real, "v2"))) // the same directory by another way
	p.wantApply(rescan("d"), false)
	p.wantList("b", "d/b")
}

func TestLinksInTheMiddleAreNotFollowed(t *testing.T) {
	p := serve(t, "d/e/a", ".hidden/e/a").watch()
	p.rename("d", ".d")
	p.must(os.Symlink(".hidden", p.at("d"))) // before the change is told
	p.wantAbsent("d/e/a")
	p.wantApply(dirty(cont|str, "d"), true, "d/", "d/e/", "d/e/a")
	p.wantList()
}

func TestAwkwardNames(t *testing.T) {
	names := []string{"a\nb", "\xff\xfe", "a b", "-rf", "a%20b", "#", "?", "[x]", `a\b`, "é", "e\u0301", "名前.md", " ", "a:b", "\x01", "d\xff/x\n"}
	p := serve(t, names...).watch()
	got := p.list()
	slices.Sort(got)
	want := slices.Sorted(slices.Values(names))
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	for _, r := range p.entries() {
		c, err := p.cat.Read(context.Background(), r.URI, nil)
		if err != nil || !strings.HasPrefix(string(c.Data), "content of ") {
			t.Errorf("%s: %q, %v", r.URI, c.Data, err)
		}
		if r.URI == "test://%FF%FE" && r.Name != "\ufffd" {
			t.Errorf("%q", r.Name)
		}
	}
	p.wantAbsent("%C3%A9%20", "e%CC%81e")
	p.write("\xff\xfe", "x")
	p.wantApply(dirty(cont, "\xff\xfe", "a\nb"), false, "\xff\xfe", "a\nb") // in the order of URIs
}

// asNobody runs f with the rights of a user who owns nothing here, also when the tests run as root.
func (p *place) asNobody(f func()) {
	restore := dropRights(p.t)
	if os.Geteuid() == 0 {
		p.who = &reader{uid: 65534}
	}
	defer restore()
	f()
}

func TestUnreadable(t *testing.T) {
	p := serve(t, "a", "secret.txt", "closed/x", "dir/x", "dir/y")
	for d := p.dir; d != filepath.Clean(os.TempDir()) && d != filepath.Dir(d); d = filepath.Dir(d) {
		p.must(os.Chmod(d, 0o755)) // the way to the test's directory
	}
	p.must(os.Chmod(p.at("secret.txt"), 0))
	p.must(os.Chmod(p.at("closed"), 0))
	defer os.Chmod(p.at("closed"), 0o755)
	log := p.logged()
	p.asNobody(func() {
		p.watch()
		p.wantList("a", "secret.txt", "dir/x", "dir/y")
		_, err := p.read("secret.txt")
		var denied *mcp.ReadError
		if !errors.As(err, &denied) || denied.URI != "test://secret.txt" || strings.Contains(err.Error(), p.dir) {
			t.Errorf("%v", err)
		}
		p.wantAbsent("closed/x")
		for rel, want := range map[string]Explanation{
			"a":          {true, "a", "no rule hides it"},
			"secret.txt": {true, "secret.txt", "no rule hides it; it cannot be read"},
			"closed/x":   {false, "closed", cannotBeRead},
			"closed/x/y": {false, "closed", cannotBeRead},
		} {
			if got := p.Explain(context.Background(), rel); got != want {
				t.Errorf("%q: %+v", rel, got)
			}
		}
		if strings.Contains(log.String(), "ignore file") {
			t.Errorf("warned of ignore files that are not there: %s", log)
		}
	})
	p.must(os.Chmod(p.at("secret.txt"), 0o644))
	p.must(os.Chmod(p.at("a"), 0o600))
	p.must(os.Chmod(p.at("a"), 0o644))
	p.must(os.Chmod(p.at("closed"), 0o755))
	p.must(os.Chmod(p.at("dir"), 0o311))
	p.asNobody(func() {
		p.wantApply(dirty(attr, "a", "secret.txt"), false, "secret.txt") // it has become readable
		p.wantApply(dirty(attr, "closed", "dir"), true, "closed/x", "dir/x", "dir/y")
		p.wantText("secret.txt", "content of secret.txt")
		p.wantList("a", "secret.txt", "closed/x")
	})
	p.must(os.Chmod(p.at("dir"), 0o444)) // may be listed and not entered
	p.asNobody(func() {
		p.wantApply(dirty(attr, "dir"), false)
	})
	p.must(os.Chmod(p.at("dir"), 0o755))
	p.asNobody(func() {
		p.wantApply(rescan("dir"), true, "dir/x", "dir/y")
	})
}

func TestErrorsNameNoPath(t *testing.T) {
	p := serve(t, "a").load()
	for _, err := range []error{
		&os.PathError{Op: "open", Path: p.dir, Err: syscall.EIO},
		&os.PathError{Op: "open", Path: p.dir, Err: syscall.EMFILE},
		&os.PathError{Op: "open", Path: p.dir, Err: syscall.ENOENT},
		errors.New(p.dir),
		&os.LinkError{Op: "x", Old: p.dir, New: p.dir, Err: syscall.EPERM},
	} {
		if got := explain("test://a", err).Error(); strings.Contains(got, p.dir) {
			t.Errorf("%v: %s", err, got)
		}
	}
	var failed *mcp.ReadError
	if err := explain("u", &os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}); !errors.As(err, &failed) || failed.Reason == "" {
		t.Errorf("%v", err)
	}
}
