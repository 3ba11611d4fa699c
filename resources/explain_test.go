//go:build unix

package resources

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestExplain(t *testing.T) {
	p := serve(t, "a", "d/a.md", "d/x.log", ".h/x/y", ".h/z", "k.pem", "K.PEM", "e/x", "own/x", "p/q.txt", "l -> a", "dl -> d", "out -> ../x", "abs -> /etc/passwd",
		"gone -> none", "loop -> loop", "sec -> k.pem", "away -> own/x", "it's", "big/a", "up -> d/../../x")
	p.write("d/.gitignore", "# logs\n\n*.log\n")
	p.write("big/.mcpignore", strings.Repeat("#\n", 3<<20))
	p.must(syscall.Mkfifo(p.at("fifo"), 0o644))
	p.must(os.Symlink("fifo", p.at("lfifo")))
	p.selected(flags{unhide: ".h/x", exclude: "e *.txt it's", include: "*", without: "own"})
	for range 2 {
		for _, c := range []struct {
			rel    string
			served bool
			at     string
			reason string
		}{
			{"", true, "", "the served directory"},
			{"a", true, "a", "--include '*'"},
			{"d/a.md", true, "d", "--include '*'"},
			{"d/x.log", false, "d/x.log", "d/.gitignore:3: *.log"},
			{"d/y.log", false, "d/y.log", "d/.gitignore:3: *.log"},
			{".h", true, ".h", "open for what --unhide '.h/x' shows in it"},
			{".h/x/y", true, ".h/x", "--unhide '.h/x'"},
			{".h/z", false, ".h", "a name that starts with a dot"},
			{".g/z/y", false, ".g", "a name that starts with a dot"},
			{"k.pem", false, "k.pem", "a credential's name (*.pem)"},
			{"K.PEM", false, "K.PEM", "a credential's name (*.pem)"},
			{"id_rsa.d/x", false, "id_rsa.d", "a credential's name (id_rsa*)"},
			{"e/x", false, "e", "--exclude 'e'"},
			{"p/q.txt", false, "p/q.txt", "--exclude '*.txt'"},
			{"it's", false, "it's", `--exclude 'it'\''s'`},
			{"own/x", false, "own", "a served directory of its own"},
			{"l", true, "l", "--include '*'"},
			{"dl", false, "dl", "a link to a directory, which is not followed"},
			{"dl/a.md", false, "dl", "a link to a directory, which is not followed"},
			{"out", false, "out", "a link that leads out of the directory"},
			{"up", false, "up", "a link that leads out of the directory"},
			{"abs", false, "abs", "a link that leads out of the directory"},
			{"gone", false, "gone", "a link that leads nowhere"},
			{"loop", false, "loop", "a link that leads to itself"},
			{"sec", false, "sec", "a link to what is hidden: a credential's name (*.pem)"},
			{"away", false, "away", "a link to what is hidden: a served directory of its own"},
			{"fifo", false, "fifo", "not a regular file"},
			{"lfifo", false, "lfifo", "a link to what is not a regular file"},
			{"none", false, "none", "nothing is there"},
			{"none/x", false, "none", "nothing is there"},
			{"a/x", false, "a/x", "nothing is there"},
			{"big/a", false, "big/a", "big/.mcpignore cannot be read"},
			{"d/../a", false, "d/../a", "not a path below the served directory"},
		} {
			want := Explanation{c.served, c.at, c.reason}
			if got := p.Explain(context.Background(), c.rel); got != want {
				t.Errorf("%q:\n got %+v\nwant %+v", c.rel, got, want)
			}
		}
		p.load() // and by the index the same
	}
	p.selected(flags{include: "d/*.md"})
	for rel, want := range map[string]Explanation{
		"d":      {true, "d", "walked for what --include 'd/*.md' matches in it"},
		"d/a.md": {true, "d/a.md", "--include 'd/*.md'"},
		"d/b":    {false, "d/b", "no --include matches"}, // a file or a directory
		"p":      {false, "p", "no --include matches"},
		"p/q.md": {false, "p", "no --include matches"},
	} {
		if got := p.Explain(context.Background(), rel); got != want {
			t.Errorf("%q:\n got %+v\nwant %+v", rel, got, want)
		}
	}
	p.selected(flags{})
	if got, want := p.Explain(context.Background(), "d/a.md"), (Explanation{true, "d/a.md", "no rule hides it"}); got != want {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := p.Explain(ctx, "a"); got.Served || got.Reason != "context canceled" {
		t.Errorf("%+v", got)
	}
	p.remove("")
	if got, want := p.Explain(context.Background(), ""), (Explanation{false, "", "no such directory"}); got != want {
		t.Errorf("%+v", got)
	}
}
