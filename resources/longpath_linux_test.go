package resources

import (
	"os"
	"strings"
	"testing"
)

// longest is a place with the files f… and g… in the deepest directory that can be listed. Their paths are too long for one call.
func longest(t *testing.T) (p *place, deep string) {
	p = serve(t)
	deep = strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 199)+"/", 4096/200+1)[:4095-len(p.dir+"/")], "/")
	at := p.dir
	t.Chdir(at)
	for _, seg := range strings.Split(deep, "/") {
		p.must(os.Mkdir(seg, 0o755))
		p.must(os.Chdir(seg))
	}
	for _, letter := range []string{"f", "g"} {
		p.must(os.WriteFile(strings.Repeat(letter, 255), []byte(letter), 0o644))
	}
	p.must(os.Chdir(at))
	return p, deep
}

func TestTheLongestPathIsWalkedAndRead(t *testing.T) {
	p, _ := longest(t)
	p.load()
	names := walkAll(t, NewCatalogue(&CatalogueOptions{PageSize: 1}, p.Root))
	for _, name := range names {
		p.wantText(name, name[len(name)-1:])
	}
	if len(names) != 2 {
		t.Errorf("%d files", len(names))
	}
}

// TestTheLongestPathIsLookedAt: by an event, and where there is none.
func TestTheLongestPathIsLookedAt(t *testing.T) {
	p, deep := longest(t)
	f, g := deep+"/"+strings.Repeat("f", 255), deep+"/"+strings.Repeat("g", 255)
	n := p.net(f, g)
	n.wantList(f, g)
	t.Chdir(p.dir)
	for _, seg := range strings.Split(deep, "/") {
		p.must(os.Chdir(seg))
	}
	p.must(os.WriteFile(strings.Repeat("f", 255), []byte("written to"), 0o644))
	p.wantApply(dirty(cont, f), false, f)
	p.must(os.WriteFile(strings.Repeat("g", 255), []byte("as nobody is told"), 0o644))
	n.wantRound(false, g)
	p.must(os.Remove(strings.Repeat("f", 255)))
	n.wantRound(true, f)
	n.wantList(g)
}
