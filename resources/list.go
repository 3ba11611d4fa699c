package resources

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// item is a file of a page.
type item struct {
	dir  string
	file *file
}

// collect returns the first n files that follow the path after, "" for the very first ones. It waits for Load only
// while fewer are known.
func (r *Root) collect(ctx context.Context, after string, n int) ([]item, error) {
	c := collector{most: n, items: make([]item, 0, min(n, 1024)), after: after}
	err := r.await(ctx, func() bool {
		if c.blocked = false; r.applied != c.applied { // what was collected may not be true any more
			c.items, c.after, c.applied = c.items[:0], after, r.applied
		}
		c.walk(r.tree, "", c.after)
		return !c.blocked
	})
	return c.items, err
}

type collector struct {
	items   []item
	most    int
	blocked bool   // by a directory that is not loaded yet
	applied uint64 // batches when the first item was collected
	after   string // where to go on; a directory with its slash stands before all in it
}

// walk adds what follows the path after below d; it goes on as long as it returns true.
func (c *collector) walk(d *dir, path, after string) bool {
	if len(c.items) == c.most {
		return false
	}
	if !d.loaded {
		c.blocked = true
		if c.after = after; path != "" {
			c.after = path + "/" + after
		}
		return false
	}
	firstFile, firstDir := 0, 0
	if after != "" {
		seg, rest, below := strings.Cut(after, "/")
		if below {
			firstFile = d.files.len() // they come before all directories
			i, found := d.dirs.search(seg)
			if found {
				if !c.walk(d.dirs.at(i), join(path, seg), rest) {
					return false
				}
				i++
			}
			firstDir = i
		} else {
			i, found := d.files.search(seg)
			if found {
				i++
			}
			firstFile = i
		}
	}
	for f := range d.files.from(firstFile) {
		if len(c.items) == c.most {
			return false
		}
		c.items = append(c.items, item{path, f})
	}
	for sub := range d.dirs.from(firstDir) {
		if !c.walk(sub, join(path, sub.name), "") {
			return false
		}
	}
	return true
}

// describe turns the items into entries of resources/list, whose names begin with label. What has gone since it was collected
// is left out.
func (r *Root) describe(ctx context.Context, items []item, label string) ([]mcp.Resource, error) {
	p := page{
		root:  r,
		label: label,
		named: strings.HasSuffix(r.base.prefix, label),
		ends:  make([]ends, 0, len(items)),
		out:   make([]mcp.Resource, 0, len(items)),
		dates: make([]mcp.Annotations, 0, len(items)),
	}
	p.text.Grow(len(items) * 80)
	in := folder{root: r}
	defer in.close()
	for _, it := range items {
		s := it.file.stat.Load()
		if s == nil {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			in.move(it.dir)
			if s = r.take(&in, it.file, it.file.name); s == nil {
				continue
			}
		}
		p.add(it, s)
	}
	p.finish()
	return p.out, nil
}

// page builds its strings in one piece of memory: there are three for each of 1,000 entries.
type page struct {
	root  *Root
	label string
	named bool // the label is the end of the base
	text  strings.Builder
	ends  []ends
	out   []mcp.Resource
	dates []mcp.Annotations
	dir   string // of the entry before
	uri   string // prefix of its URI, with the slash
}

// ends says where in the text an entry's strings are.
type ends struct {
	start, uri, date int
	name             int // 0: it is the end of the URI
}

func (p *page) add(it item, s *stat) {
	if p.uri == "" || it.dir != p.dir {
		p.dir = it.dir
		p.uri = p.root.base.prefix
		if it.dir != "" {
			p.uri += escape(it.dir) + "/"
		}
	}
	e := ends{start: p.text.Len()}
	p.text.WriteString(p.uri)
	name := escape(it.file.name)
	p.text.WriteString(name)
	e.uri = p.text.Len()
	var buf [len(time.RFC3339) + 8]byte
	if s.mtime >= yearZero && s.mtime < year10000 {
		p.text.Write(s.modTime().AppendFormat(buf[:0], time.RFC3339))
	}
	e.date = p.text.Len()
	plain := len(name) == len(it.file.name) && len(p.uri) == len(p.root.base.prefix)+dirLen(it.dir) // nothing was escaped in the whole path
	if !plain || !p.named {
		p.text.WriteString(p.label)
		p.text.WriteString(strings.ToValidUTF8(join(it.dir, it.file.name), "\ufffd"))
		e.name = p.text.Len()
	}
	p.ends = append(p.ends, e)
	p.out = append(p.out, mcp.Resource{MIMEType: p.root.typeOf(it, s), Size: s.size})
}

// RFC 3339 has years of four digits. In seconds.
const (
	yearZero  = -62167219200
	year10000 = 253402300800
)

func dirLen(dir string) int {
	if dir == "" {
		return 0
	}
	return len(dir) + 1
}

func (p *page) finish() {
	text := p.text.String()
	for i, e := range p.ends {
		out := &p.out[i]
		out.URI = text[e.start:e.uri]
		if e.name > 0 {
			out.Name = text[e.date:e.name]
		} else {
			out.Name = out.URI[len(p.root.base.prefix)-len(p.label):]
		}
		if e.date > e.uri {
			p.dates = append(p.dates, mcp.Annotations{LastModified: text[e.uri:e.date]})
			out.Annotations = &p.dates[len(p.dates)-1]
		}
	}
}

// typeOf returns the media type of a file, by its name or else by its content, which is looked at once for each state.
func (r *Root) typeOf(it item, s *stat) string {
	if t := typeByName(it.file.name); t != "" {
		return t
	}
	n := s.sniffed.Load()
	if n == 0 {
		found, err := r.sniffFile(join(it.dir, it.file.name))
		if err != nil {
			return sniffable[sniffBinary]
		}
		n = found + 1
		s.sniffed.Store(n)
	}
	return sniffable[n-1]
}
