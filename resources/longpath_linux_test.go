package resources

import (
	"os"
	"strings"
	"testing"
)

// TestTheLongestPathIsWalkedAndRead: a name in the deepest directory that can be listed.
func TestTheLongestPathIsWalkedAndRead(t *testing.T) {
	p := serve(t)
	deep := strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 199)+"/", 4096/200+1)[:4095-len(p.dir+"/")], "/")
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
	p.load()
	names := walkAll(t, NewCatalogue(&CatalogueOptions{PageSize: 1}, p.Root))
	for _, name := range names {
		p.wantText(name, name[len(name)-1:])
	}
	if len(names) != 2 {
		t.Errorf("%d files", len(names))
	}
}
