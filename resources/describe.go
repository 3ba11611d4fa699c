package resources

import (
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// describer makes the entries of a page, one after the other. What one has in common with the entry before it, it need not
// find again.
type describer struct {
	root  *Root
	label string // what the names begin with
	named bool   // the label is the end of the base
	text  arena
	out   mcp.Resource
	dates dates

	dir   string // of the files that come now
	uri   string // what their URIs begin with
	name  string // what their names begin with
	plain bool   // so far nothing had to be escaped
	buf   []byte // for what has to be

	ext      string // of the file before, without its dot
	mimeType string // what that tells, "" for nothing
}

func newDescriber(r *Root, label string) *describer {
	return &describer{root: r, label: label, named: strings.HasSuffix(r.base.prefix, label)}
}

// enter goes on to the files of a directory.
func (d *describer) enter(dir string) {
	d.dir, d.uri, d.name, d.plain = dir, d.root.base.prefix, d.label, true
	if dir != "" {
		escaped := escape(dir)
		d.uri += escaped + "/"
		d.name += strings.ToValidUTF8(dir, "\ufffd") + "/"
		d.plain = len(escaped) == len(dir)
	}
}

// entry returns what the list says of a file. It is valid until the next call, its strings for ever.
func (d *describer) entry(f *file, s *stat) *mcp.Resource {
	plain := escapedLen(f.name) == len(f.name)
	if plain {
		d.out.URI = d.text.join(d.uri, f.name)
	} else {
		d.buf = appendEscaped(append(d.buf[:0], d.uri...), f.name)
		d.out.URI = d.text.keep(d.buf)
	}
	if d.named && d.plain && plain {
		d.out.Name = d.out.URI[len(d.root.base.prefix)-len(d.label):]
	} else {
		d.out.Name = d.text.join(d.name, strings.ToValidUTF8(f.name, "\ufffd"))
	}
	d.out.MIMEType = d.typeOf(f, s)
	d.out.Size = s.size
	d.out.Annotations.LastModified = d.dates.text(s.mtime, &d.text)
	return &d.out
}

// typeOf returns the media type of a file, by its name or else by its content, which is looked at once for each state.
func (d *describer) typeOf(f *file, s *stat) string {
	if t := d.typeByName(f.name); t != "" {
		return t
	}
	n := s.sniffed.Load()
	if n == 0 {
		found, err := d.root.sniffFile(join(d.dir, f.name))
		if err != nil {
			return sniffable[sniffBinary]
		}
		n = found + 1
		s.sniffed.Store(n)
	}
	return sniffable[n-1]
}

func (d *describer) typeByName(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return typeByName(name)
	}
	if ext := name[i+1:]; ext != d.ext {
		d.ext, d.mimeType = ext, typeByExtension(ext)
	}
	return d.mimeType
}
