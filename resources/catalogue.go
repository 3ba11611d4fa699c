package resources

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// Catalogue is the ordered set of roots that clients see.
type Catalogue struct {
	roots    []*Root
	prefixes []string // of the URIs
	labels   []string // of the names of resources: "NAME/" where there are several roots
	pageSize int
	update   func(ctx context.Context)
	asked    func()
}

// CatalogueOptions configure a Catalogue. A nil *CatalogueOptions is the default.
type CatalogueOptions struct {
	PageSize int // entries of a page; default 250

	// Update has all roots Apply what happened on disk before the call, as far as ctx allows. It is called, from any
	// goroutine, before anything is answered from the index: first pages, directories, completions, and that nothing is there.
	// Nil: the answers are what Apply was told so far.
	Update func(ctx context.Context)

	// Asked is told when somebody reads, or takes a baseline to listen, so that what is on disk matters now. It is called from
	// any goroutine and returns at once. Nil: nobody is told.
	Asked func()
}

// NewCatalogue returns the catalogue of the given roots, which are listed in that order.
func NewCatalogue(opts *CatalogueOptions, roots ...*Root) *Catalogue {
	if opts == nil {
		opts = &CatalogueOptions{}
	}
	c := &Catalogue{roots: roots, pageSize: opts.PageSize, update: opts.Update, asked: opts.Asked}
	if c.pageSize <= 0 {
		c.pageSize = 250
	}
	if c.update == nil {
		c.update = func(context.Context) {}
	}
	if c.asked == nil {
		c.asked = func() {}
	}
	for _, r := range roots {
		c.prefixes = append(c.prefixes, r.base.prefix)
		label := ""
		if len(roots) > 1 {
			label = r.name + "/"
		}
		c.labels = append(c.labels, label)
	}
	return c
}

// List calls entry with each resource of the page that follows cursor, the first one for nil, and returns the cursor of the
// page after it, "" if there is none. entry may keep a copy of what it is given. List waits for Load as far as the page needs
// it. Errors: [ErrBadCursor], that of ctx, which may come after a part of the page.
func (c *Catalogue) List(ctx context.Context, cursor *string, entry func(*Resource)) (next string, err error) {
	start, after := 0, ""
	if cursor != nil {
		if start, after, err = decodeCursor(*cursor, c.prefixes); err != nil {
			return "", err
		}
	}
	if cursor == nil { // the whole walk tells of what was there when it began
		c.update(ctx)
	}
	room := c.pageSize
	last := "" // the cursor that ends the page
	for i := start; i < len(c.roots); i++ {
		r := c.roots[i]
		files, more, err := r.collect(ctx, after, room)
		if err != nil {
			return "", err
		}
		after = ""
		if err := r.describe(ctx, files, c.labels[i], entry); err != nil {
			return "", err
		}
		for _, part := range files {
			room -= len(part.files)
		}
		if n := len(files); n > 0 {
			last = encodeCursor(c.prefixes[i], files[n-1].last())
		}
		if more {
			return last, nil
		}
	}
	return "", nil
}

// Read returns the content behind uri, in any spelling, or the URIs of a directory's children. Errors: *[NotFoundError],
// *[TooLargeError], *[ReadError], that of ctx or of Reserve, which is asked before more than 64 KiB are held: a file that
// is larger has a Body instead, and is open until that is closed. Files are read from the disk; the index is brought up to date
// first if uri names anything else, or if too many reads are ahead of it.
func (c *Catalogue) Read(ctx context.Context, uri string, opts *ReadOptions) (Contents, error) {
	if opts == nil {
		opts = &mcp.ReadOptions{}
	}
	c.asked()
	out, err := c.readAny(ctx, uri, opts, false)
	if errors.Is(err, errStale) || isAbsent(err) {
		c.update(ctx)
		out, err = c.readAny(ctx, uri, opts, true)
	}
	return out, err
}

// readAny reads what one of the roots has behind uri. Unless the index is updated the error may be errStale.
func (c *Catalogue) readAny(ctx context.Context, uri string, opts *mcp.ReadOptions, updated bool) (mcp.Contents, error) {
	var failed error
	for _, r := range c.roots {
		for _, rd := range r.readings(uri) {
			out, err := r.read(ctx, uri, rd, opts, updated)
			if err == nil {
				return out, nil
			}
			if !isAbsent(err) {
				failed = cmp.Or(failed, err) // another root may have it all the same, if this one cannot tell that it is not its own
				break
			}
		}
	}
	if failed != nil {
		return mcp.Contents{}, failed
	}
	return mcp.Contents{}, &mcp.NotFoundError{URI: uri}
}

// isAbsent reports whether an error says that nothing is there.
func isAbsent(err error) bool { return err != nil && errors.As(err, new(*mcp.NotFoundError)) }

// Templates returns one template for each root (RFC 6570; the path goes in percent-encoded).
func (c *Catalogue) Templates() []ResourceTemplate {
	out := make([]mcp.ResourceTemplate, 0, len(c.roots))
	for _, r := range c.roots {
		t := mcp.ResourceTemplate{
			URITemplate: r.base.template(),
			Name:        "file",
			Title:       "File",
			Description: "A file by its path below the served directory, percent-encoded.",
		}
		if len(c.roots) > 1 {
			t.Name = r.name
			t.Title = "File in " + r.name
			t.Description = "A file by its path below the served directory " + r.name + ", percent-encoded."
		}
		out = append(out, t)
	}
	return out
}

// Resolve returns the key of everything that uri can mean, whether it exists or not, each once; it does no I/O. What an
// ignore file hides now is included, since the file can change. The error is a *[NotFoundError] if uri is outside of
// every root, refused, or hidden by its mere name.
func (c *Catalogue) Resolve(uri string) (keys []string, err error) {
	for _, r := range c.roots {
		for _, rd := range r.readings(uri) {
			if r.neverShown(rd.rel) {
				continue
			}
			if key := r.base.key(rd.rel); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if len(keys) == 0 {
		return nil, &mcp.NotFoundError{URI: uri}
	}
	return keys, nil
}

// Baseline takes the state of the files that keys name, and of all below the directories that they name, where it is not
// known yet. A later Apply compares with it.
func (c *Catalogue) Baseline(ctx context.Context, keys []string) {
	c.asked()
	for _, key := range keys {
		for _, r := range c.roots {
			if rel, ok := r.base.relOf(key); ok && ctx.Err() == nil {
				r.baseline(ctx, rel)
			}
		}
	}
}
