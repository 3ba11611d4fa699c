package resources

import (
	"context"
	"errors"
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
