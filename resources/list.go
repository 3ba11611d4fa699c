package resources

import (
	"context"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// run is files of a page that are in one directory, one after the other.
type run struct {
	dir   string
	files []*file // of a roll: not to be edited; there is one at least
}

// last returns the path of the last file.
func (r run) last() string { return join(r.dir, r.files[len(r.files)-1].name) }

// collect returns the first n files that follow the path after, "" for the very first ones, and whether there are more. It
// waits for Load only while fewer are known.
func (r *Root) collect(ctx context.Context, after string, n int) (files []run, more bool, err error) {
	c := collector{left: n, after: after}
	err = r.await(ctx, func() bool {
		if c.blocked = false; r.applied != c.applied { // what was collected may not be true any more
			c = collector{left: n, after: after, applied: r.applied}
		}
		c.walk(r.tree, "", c.after)
		return !c.blocked
	})
	return c.runs, c.more, err
}

type collector struct {
	runs    []run
	left    int    // how many files are still to be collected
	more    bool   // there are others after those
	blocked bool   // by a directory that is not loaded yet
	applied uint64 // batches when the first was collected
	after   string // where to go on; a directory with its slash stands before all in it
}

// walk adds what follows the path after below d; it goes on as long as it returns true.
func (c *collector) walk(d *dir, path, after string) bool {
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
	for files := range d.files.runs(firstFile) {
		n := min(len(files), c.left)
		if n > 0 {
			c.runs = append(c.runs, run{path, files[:n:n]})
			c.left -= n
		}
		if n < len(files) {
			c.more = true
			return false
		}
	}
	for sub := range d.dirs.from(firstDir) {
		if !c.walk(sub, join(path, sub.name), "") {
			return false
		}
	}
	return true
}

// describe calls entry with what resources/list says of each file, whose name begins with label. What has gone since it was
// collected is left out.
func (r *Root) describe(ctx context.Context, files []run, label string, entry func(*mcp.Resource)) error {
	d := newDescriber(r, label)
	in := folder{root: r}
	defer in.close()
	for _, part := range files {
		d.enter(part.dir)
		for _, f := range part.files {
			s := f.stat.Load()
			if s == nil {
				if err := ctx.Err(); err != nil {
					return err
				}
				in.move(part.dir)
				if s = r.take(&in, f, f.name); s == nil {
					continue
				}
			}
			entry(d.entry(f, s))
		}
	}
	return nil
}
