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

func TestLargeReadAsksForMemoryFirst(t *testing.T) {
	p := serve(t)
	p.write("small", strings.Repeat("s", mcp.SmallRead))
	p.write("large", strings.Repeat("l", mcp.SmallRead+1))
	p.watch()
	var asked []int64
	reserve := func(_ context.Context, size int64) error {
		asked = append(asked, size)
		p.must(os.Remove(p.at("large"))) // nothing is open meanwhile, and the file is looked for again
		p.write("large", strings.Repeat("n", mcp.SmallRead+1))
		return nil
	}
	for _, name := range []string{"small", "large"} {
		c, err := p.cat.Read(context.Background(), "test://"+name, reserve)
		if err != nil || name == "large" && c.Data[0] != 'n' {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slices.Equal(asked, []int64{mcp.SmallRead + 1}) {
		t.Errorf("asked for %v", asked)
	}
	full := errors.New("no memory")
	if _, err := p.cat.Read(context.Background(), "test://large", func(context.Context, int64) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// A file that grows while its reader waits, or whose size was not true, is asked for again; so is a long directory.
func TestReadTakesNoMoreMemoryThanItAskedFor(t *testing.T) {
	p := serve(t)
	for i := range 700 {
		p.write(fmt.Sprintf("d/%0100d", i), "")
	}
	p.write("grows", strings.Repeat("x", mcp.SmallRead+1))
	p.watch()
	var asked []int64
	reserve := func(_ context.Context, size int64) error {
		asked = append(asked, size)
		p.write("grows", strings.Repeat("x", 3*mcp.SmallRead))
		return nil
	}
	for uri, want := range map[string][]int64{"grows": {mcp.SmallRead + 1, 3 * mcp.SmallRead}, "d": {700 * int64(len("test://d/\r\n")+100)}} {
		asked = nil
		p.write("grows", strings.Repeat("x", mcp.SmallRead+1))
		c, err := p.cat.Read(context.Background(), "test://"+uri, reserve)
		if err != nil || !slices.Equal(asked, want) || int64(len(c.Data)) != want[len(want)-1] {
			t.Errorf("%s: asked for %v, %d bytes, %v", uri, asked, len(c.Data), err)
		}
	}
	f, err := os.Open(p.at("grows"))
	p.must(err)
	defer f.Close()
	empty, err := os.Stat(p.at("d/" + strings.Repeat("0", 100)))
	p.must(err)
	var more needsRoom
	if _, err := p.readWhole(context.Background(), "test://f", f, empty, 1000); !errors.As(err, &more) || more < 2000 {
		t.Errorf("%v: %d", err, more)
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
