package resources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// No memory is asked for a file, of which no more than a block is held, but for the text of a directory; nothing is read before.
func TestLargeReadAsksForMemoryFirst(t *testing.T) {
	p := serve(t)
	for i := range 700 {
		p.write(fmt.Sprintf("d/%0100d", i), "")
	}
	p.write("small", strings.Repeat("s", mcp.SmallRead))
	p.write("large", strings.Repeat("l", mcp.SmallRead+1))
	p.watch()
	var asked []int64
	opts := &mcp.ReadOptions{Reserve: func(_ context.Context, size int64) error {
		asked = append(asked, size)
		return nil
	}}
	for _, c := range []struct {
		uri  string
		size int64
		body bool
	}{{"small", mcp.SmallRead, false}, {"large", mcp.SmallRead + 1, true}, {"d", 700 * int64(len("test://d/\r\n")+100), false}} {
		got, err := p.cat.Read(context.Background(), "test://"+c.uri, opts)
		if err != nil || got.Body != nil != c.body || int64(len(p.wholeOf(got))) != c.size {
			t.Errorf("%s: %v", c.uri, err)
		}
	}
	if want := []int64{700 * int64(len("test://d/\r\n")+100)}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v", asked)
	}
	full := errors.New("no memory")
	opts.Reserve = func(context.Context, int64) error { return full }
	if _, err := p.cat.Read(context.Background(), "test://d", opts); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// A directory that grows while its reader waits is asked for again, and a file whose size was not true is a body all the same.
func TestReadTakesNoMoreMemoryThanItAskedFor(t *testing.T) {
	p := serve(t)
	for i := range 700 {
		p.write(fmt.Sprintf("d/%0100d", i), "")
	}
	p.watch()
	const line = int64(len("test://d/\r\n") + 100)
	var asked []int64
	opts := &mcp.ReadOptions{Reserve: func(_ context.Context, size int64) error {
		if asked = append(asked, size); len(asked) == 1 {
			p.write(fmt.Sprintf("d/%0100d", 700), "")
			p.Apply(rescan(""))
		}
		return nil
	}}
	c, err := p.cat.Read(context.Background(), "test://d", opts)
	if err != nil || !slices.Equal(asked, []int64{700 * line, 701 * line}) || int64(len(c.Data)) != 701*line {
		t.Errorf("asked for %v, %d bytes, %v", asked, len(c.Data), err)
	}
	p.write("grows", strings.Repeat("x", 3*mcp.SmallRead))
	f, err := os.Open(p.at("grows"))
	p.must(err)
	empty, err := os.Stat(p.at("d/" + strings.Repeat("0", 100)))
	p.must(err)
	var more needsRoom
	if _, err := p.readWhole(context.Background(), "test://f", f, empty, 1000); !errors.As(err, &more) || more < 2000 {
		t.Errorf("%v: %d", err, more)
	}
	c, _, err = p.readFile(context.Background(), "test://f", f, empty, nil)
	if err != nil || c.Body == nil || len(p.wholeOf(c)) != 3*mcp.SmallRead {
		t.Errorf("%+v, %v", c, err)
	}
}

// What can never be served cannot be subscribed to; what an ignore file hides can, since the file may change.
func TestHiddenByNameDoesNotResolve(t *testing.T) {
	p := serve(t, "a")
	p.write(".gitignore", "ignored\n")
	for _, name := range []string{".env", ".x/y", "d/.x", "d/.x/y", "key.PEM", "d/id_rsa", "id_rsa/x"} {
		var absent *mcp.NotFoundError
		if keys, err := p.cat.Resolve("test://" + name); !errors.As(err, &absent) {
			t.Errorf("%s resolves to %q, %v", name, keys, err)
		}
	}
	for _, name := range []string{"ignored", "a", "not/there", "a.env", "x.y/z."} {
		if keys, err := p.cat.Resolve("test://" + name); err != nil || len(keys) != 1 {
			t.Errorf("%s resolves to %q, %v", name, keys, err)
		}
	}
}

func TestIgnoreFileTooLargeToReadHidesAll(t *testing.T) {
	p := serve(t, "a", "d/b")
	log := p.logged()
	p.write("d/.mcpignore", strings.Repeat("#\n", 2<<20)+"nothing\n")
	p.watch()
	p.wantList("a")
	p.wantAbsent("d/b")
	p.wantApply(rescan(""), false)
	if n := strings.Count(log.String(), "d/.mcpignore"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
	p.write("d/.mcpignore", "nothing\n")
	p.wantApply(dirty(cont, "d/.mcpignore"), true, "d/b")
	p.wantList("a", "d/b")
}

// Nothing is said of an ignore file where there can be none.
func TestNoIgnoreFileBelowAFile(t *testing.T) {
	p := serve(t, "f", "d/x", "l -> d")
	log := p.logged()
	p.cat.Baseline(context.Background(), []string{"test://f/x", "test://l/x"})
	p.Skip("f/x")
	p.Skip("l/x")
	p.watch()
	if log.Len() > 0 {
		t.Error(log)
	}
}

func TestIgnoreFileThatIsALinkIsSaidToHideNothing(t *testing.T) {
	p := serve(t, "a", "rules", ".gitignore -> rules")
	log := p.logged()
	p.write("rules", "a\n")
	p.watch()
	p.wantList("a", "rules")
	p.wantApply(rescan(""), false)
	if n := strings.Count(log.String(), "not followed"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
}
