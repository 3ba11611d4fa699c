package resources

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a served directory under test, with URIs below test://.
type place struct {
	t   testing.TB
	dir string
	*Root
	cat   *Catalogue
	flags flags // that it was opened with
}

// serve lays out files ("dir/" makes a directory, "a -> b" a link) and opens a root there.
func serve(t testing.TB, files ...string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}
	p.make(files...)
	p.open(nil)
	return p
}

func (p *place) open(opts *Options) {
	p.t.Helper()
	if opts == nil {
		opts = &Options{Base: "test://"}
	}
	r, err := Open(p.dir, opts)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { r.Close() })
	p.Root, p.cat = r, NewCatalogue(nil, r)
}

// paged opens the root again, with so many entries on a page.
func (p *place) paged(size int) {
	p.t.Helper()
	p.open(nil)
	p.cat = NewCatalogue(&CatalogueOptions{PageSize: size}, p.Root)
}

func (p *place) load() *place {
	p.t.Helper()
	if err := p.Load(context.Background()); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// watch baselines everything, as if all of it were subscribed to.
func (p *place) watch() *place {
	p.t.Helper()
	p.load()
	p.cat.Baseline(context.Background(), []string{p.Root.base.key("")})
	return p
}

// logged opens the root again with a log, and returns what was written to that.
func (p *place) logged() *bytes.Buffer {
	p.t.Helper()
	var log bytes.Buffer
	p.open(&Options{Base: "test://", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	return &log
}

func (p *place) at(rel string) string { return filepath.Join(p.dir, filepath.FromSlash(rel)) }

func (p *place) make(files ...string) {
	p.t.Helper()
	for _, f := range files {
		if name, target, ok := strings.Cut(f, " -> "); ok {
			p.must(os.MkdirAll(filepath.Dir(p.at(name)), 0o755))
			p.must(os.Symlink(target, p.at(name)))
		} else if strings.HasSuffix(f, "/") {
			p.must(os.MkdirAll(p.at(f), 0o755))
		} else {
			p.write(f, "content of "+f)
		}
	}
}

func (p *place) write(rel, text string) {
	p.t.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.at(rel)), 0o755))
	p.must(os.WriteFile(p.at(rel), []byte(text), 0o644))
}

// chmodAgain sets the mode that the file has, which changes nothing but its change time; that, for certain.
func (p *place) chmodAgain(rel string) {
	p.t.Helper()
	fi, err := os.Lstat(p.at(rel))
	p.must(err)
	was := newStat(fi, &reader{})
	for now := was; now.ctime == was.ctime && now.ctimeNano == was.ctimeNano && was.ctime != 0; now = newStat(fi, &reader{}) {
		p.must(os.Chmod(p.at(rel), fi.Mode()))
		fi, err = os.Lstat(p.at(rel))
		p.must(err)
	}
}

func (p *place) remove(rel string) {
	p.t.Helper()
	p.must(os.RemoveAll(p.at(rel)))
}

func (p *place) rename(from, to string) {
	p.t.Helper()
	p.must(os.Rename(p.at(from), p.at(to)))
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// list walks all pages and returns the paths.
func (p *place) list() []string {
	p.t.Helper()
	var out []string
	for _, r := range p.entries() {
		out = append(out, unescape(strings.TrimPrefix(r.URI, p.Root.base.prefix)))
	}
	return out
}

// sheet is a page of the list.
type sheet struct {
	Resources  []mcp.Resource
	NextCursor string
}

func listPage(ctx context.Context, c *Catalogue, cursor *string) (s sheet, err error) {
	s.NextCursor, err = c.List(ctx, cursor, func(r *mcp.Resource) { s.Resources = append(s.Resources, *r) })
	return s, err
}

// countIn is how many files there are in runs of them.
func countIn(files []run) (n int) {
	for _, part := range files {
		n += len(part.files)
	}
	return n
}

func (p *place) entries() []mcp.Resource {
	p.t.Helper()
	var out []mcp.Resource
	var cursor *string
	for {
		page, err := listPage(context.Background(), p.cat, cursor)
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, page.Resources...)
		if page.NextCursor == "" {
			return out
		}
		cursor = &page.NextCursor
	}
}

func (p *place) wantList(want ...string) {
	p.t.Helper()
	if got := p.list(); !slices.Equal(got, want) {
		p.t.Errorf("list:\n got %q\nwant %q", got, want)
	}
}

// wholeOf is what a resource held, out of its body if it has one, which is closed.
func (p *place) wholeOf(c mcp.Contents) []byte {
	p.t.Helper()
	if c.Body == nil {
		return c.Data
	}
	defer c.Close()
	var all []byte
	for i := range c.Body.Blocks() {
		block, err := c.Body.Block(i)
		p.must(err)
		all = append(all, block...)
	}
	if int64(len(all)) != c.Body.Size() {
		p.t.Errorf("%d bytes, of a size of %d", len(all), c.Body.Size())
	}
	return all
}

func (p *place) read(uri string) (mcp.Contents, error) {
	return p.cat.Read(context.Background(), p.Root.base.prefix+uri, nil)
}

func (p *place) wantText(uri, want string) {
	p.t.Helper()
	c, err := p.read(uri)
	if err != nil || string(c.Data) != want || !c.Text {
		p.t.Errorf("read %s: %q, text %v, %v; want %q", uri, c.Data, c.Text, err, want)
	}
}

func (p *place) wantAbsent(uris ...string) {
	p.t.Helper()
	for _, uri := range uris {
		c, err := p.read(uri)
		var absent *mcp.NotFoundError
		if !errors.As(err, &absent) {
			p.t.Errorf("read %s: %q, %v; want not found", uri, c.Data, err)
		} else if absent.URI != p.Root.base.prefix+uri {
			p.t.Errorf("read %s: the error names %s", uri, absent.URI)
		}
	}
}

const (
	cont = watcher.Content
	str  = watcher.Structure
	attr = watcher.Attribute
)

func dirty(ev watcher.Evidence, paths ...string) watcher.Batch {
	var b watcher.Batch
	for _, p := range paths {
		b.Dirty = append(b.Dirty, watcher.Dirty{Path: p, Evidence: ev})
	}
	return b
}

func rescan(dirs ...string) watcher.Batch { return watcher.Batch{Rescan: dirs} }

// Apply is Root.Apply and then, as the watcher would see to it, the second look at what was unsettled.
func (p *place) Apply(b watcher.Batch) (Change, watcher.Reply) {
	c, reply := p.Root.Apply(b)
	if len(reply.Unsettled) == 0 {
		return c, reply
	}
	var second watcher.Batch
	for _, rel := range reply.Unsettled {
		second.Dirty = append(second.Dirty, watcher.Dirty{Path: rel, Evidence: watcher.Settled})
	}
	later, more := p.Root.Apply(second)
	if len(more.Unsettled) > 0 {
		p.t.Errorf("unsettled at the second look: %q", more.Unsettled)
	}
	c.Keys = append(c.Keys, later.Keys...)
	slices.Sort(c.Keys)
	c.Keys = slices.Compact(c.Keys)
	reply.Rewalk = slices.Compact(slices.Sorted(slices.Values(append(reply.Rewalk, more.Rewalk...))))
	reply.Retry = append(reply.Retry, more.Retry...)
	return Change{Keys: c.Keys, List: c.List || later.List}, reply
}

// apply applies a batch and returns the changed paths.
func (p *place) apply(b watcher.Batch) (keys []string, list bool) {
	c, _ := p.Apply(b)
	for _, k := range c.Keys {
		rel, ok := p.Root.base.relOf(k)
		if !ok {
			p.t.Errorf("foreign key %q", k)
		}
		keys = append(keys, rel)
	}
	return keys, c.List
}

func (p *place) wantApply(b watcher.Batch, list bool, keys ...string) {
	p.t.Helper()
	got, gotList := p.apply(b)
	if !slices.Equal(got, keys) || gotList != list {
		p.t.Errorf("apply %v:\n got %q, list %v\nwant %q, list %v", b, got, gotList, keys, list)
	}
}
