package resources

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// errStale: an index that is not updated is not enough for the answer.
var errStale = errors.New("not up to date")

// read returns the content of what rd names. Unless the index is updated the error is errStale for a directory, and for what no
// note can be taken of. uri is the client's spelling.
func (r *Root) read(ctx context.Context, uri string, rd reading, opts *mcp.ReadOptions, updated bool) (mcp.Contents, error) {
	if err := ctx.Err(); err != nil {
		return mcp.Contents{}, err
	}
	out, err := r.readPath(ctx, uri, rd, opts, updated)
	if refusal, ok := err.(refused); ok {
		return out, refusal.error
	}
	return out, explain(uri, err)
}

// refused is an error of ReadOptions.Reserve, which goes to the caller as it is.
type refused struct{ error }

// needsRoom is the error of a read that came upon more than it may hold: the bytes to ask for.
type needsRoom int64

func (needsRoom) Error() string { return "more memory is needed" }

// explain turns any failure of a read into one that a client may see.
func explain(uri string, err error) error {
	switch {
	case err == nil, err == errStale, errors.As(err, new(*mcp.TooLargeError)), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errDenied):
		return &mcp.ReadError{URI: uri, Reason: fs.ErrPermission.Error()}
	case errors.Is(err, errUnknown):
		return &mcp.ReadError{URI: uri, Reason: errUnknown.Error()}
	case errors.Is(err, errMoved):
		return &mcp.ReadError{URI: uri, Reason: errMoved.Error()}
	case errors.As(err, new(syscall.Errno)) && passing(err):
		return &mcp.ReadError{URI: uri, Reason: reason(err)}
	}
	return &mcp.NotFoundError{URI: uri}
}

// errDenied: the file is there, and visible, and may not be read. In a directory that may not be entered nothing is
// known to be there.
var errDenied = errors.New("denied")

// errUnknown: whether the file is visible cannot be told now, for want of descriptors for instance.
var errUnknown = errors.New("the rules for it cannot be read now, ask again")

// readPath reads again if what it found was replaced before it was open, or is another thing than the index holds and has gone,
// and with more memory until what it comes upon fits: a directory may grow while its reader waits, and nothing is held open by
// those who do.
func (r *Root) readPath(ctx context.Context, uri string, rd reading, opts *mcp.ReadOptions, updated bool) (mcp.Contents, error) {
	room := r.maxSize
	if opts.Reserve != nil {
		room = min(room, mcp.SmallRead)
	}
	for moved := 0; ; {
		out, found, err := r.readWithin(ctx, uri, rd, room, opts.Measure, updated)
		again := r.noteRead(rd, found, err)
		switch moved++; {
		case again == errMoved && moved < looks:
			out.Close()
			continue
		case again == errStale && !updated:
			out.Close()
			return mcp.Contents{}, errStale
		}
		more, ok := err.(needsRoom)
		if !ok {
			return out, err
		}
		room = int64(more)
		if err := opts.Reserve(ctx, room); err != nil {
			return out, refused{err}
		}
	}
}

// readWithin reads a file, or a directory that takes room bytes at most, which are no more than maxSize. The error is needsRoom if
// that takes more. found is the file that is there, nil if it is none.
func (r *Root) readWithin(ctx context.Context, uri string, rd reading, room int64, measure func([]byte) int, updated bool) (out mcp.Contents, found *stat, err error) {
	if rd.rel == "" {
		out, err = r.readDirectory(ctx, uri, "", room, updated)
		return out, nil, err
	}
	where, err := r.seek(rd)
	if err != nil {
		return out, nil, err
	}
	defer where.close()
	if where.info.IsDir() {
		out, err = r.readDirectory(ctx, uri, rd.rel, room, updated)
		return out, nil, err
	}
	f, info, err := where.open()
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = errDenied
		}
		return out, newStat(where.info, r.who), err
	}
	found = newStat(info, r.who)
	out, head, err := r.readFile(ctx, uri, f, info, measure)
	if out.Body == nil {
		f.Close()
	}
	if err != nil {
		return out, found, err
	}
	_, name := split(rd.rel)
	if out.MIMEType = typeByName(name); out.MIMEType == "" {
		out.MIMEType = sniffable[sniff(head[:min(len(head), sniffLen)])]
	}
	return out, found, nil
}

// readFile reads an open file: a small one whole, one that is larger as a body, which closes it. head is its beginning.
func (r *Root) readFile(ctx context.Context, uri string, f content, info fs.FileInfo, measure func([]byte) int) (out mcp.Contents, head []byte, err error) {
	data, err := r.readWhole(ctx, uri, f, info, min(r.maxSize, mcp.SmallRead))
	if err == nil {
		return mcp.Contents{URI: uri, Data: data, Text: isText(data)}, data, nil
	}
	if _, large := err.(needsRoom); !large {
		return out, nil, err
	}
	b, err := r.readBody(ctx, uri, f, info, measure)
	if err != nil {
		return out, nil, err
	}
	return mcp.Contents{URI: uri, Body: b, Text: b.text}, b.head, nil
}

// seek finds what a reading names, if that is served. The caller closes the spot, even after an error.
func (r *Root) seek(rd reading) (*spot, error) {
	where, err := r.locate(rd.rel)
	if err != nil {
		return &spot{}, err
	}
	if err := r.admit(where, rd); err != nil {
		where.close()
		return &spot{}, err
	}
	return where, nil
}

// admit tells why what was found is not served under this reading, nil if it is.
func (r *Root) admit(where *spot, rd reading) error {
	isDir := where.info.IsDir()
	v := r.judge(rd.rel, isDir)
	switch {
	case v.by == unknown:
		return errUnknown
	case v.hidden(), isDir && where.links > 0, !isDir && rd.dirOnly:
		return errAbsent
	}
	if ok, err := r.spelled(rd.rel); err != nil || !ok {
		return cmp.Or(err, errAbsent)
	}
	return nil
}

// content is an open file, or a test's idea of one that is written to while it is read.
type content interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// readWhole reads f as it was at one moment, where that can be known: what was written to meanwhile is read again. A file
// that never rests is returned as it was last seen. The error is needsRoom if it takes more than room.
func (r *Root) readWhole(ctx context.Context, uri string, f content, before fs.FileInfo, room int64) ([]byte, error) {
	var data []byte
	for range attempts {
		size := before.Size()
		if err := r.fits(uri, size, room); err != nil {
			return nil, err
		}
		var err error
		if data, err = readAll(f, data[:0], size, room); err != nil {
			return nil, err
		}
		after, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if n := int64(len(data)); n > room { // the size was not true, or is no longer
			return nil, r.fits(uri, max(after.Size(), n, min(2*room, r.maxSize)), room)
		}
		if newStat(before, r.who).untorn(newStat(after, r.who)) {
			return data, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		before = after
	}
	return data, nil
}

// attempts is how often a file is read that is written to meanwhile.
const attempts = 5

// fits returns an error if so many bytes are more than room, or more than may be read at all.
func (r *Root) fits(uri string, size, room int64) error {
	switch {
	case size > r.maxSize:
		return &mcp.TooLargeError{URI: uri, Size: size, Limit: r.maxSize}
	case size > room:
		return needsRoom(size)
	}
	return nil
}

// untorn: nothing was written between the two looks.
func (s *stat) untorn(o *stat) bool {
	return s.sameContent(o) && s.ctime == o.ctime && s.ctimeNano == o.ctimeNano
}

// readAll reads f from its start into buf, to the end or one byte beyond most. The size is a guess: that of a file in
// /proc is 0.
func readAll(f io.ReaderAt, buf []byte, size, most int64) ([]byte, error) {
	buf = slices.Grow(buf, int(min(size, most))+1) // the byte more finds the end without growing
	for {
		room := buf[len(buf):cap(buf)]
		if int64(len(buf)+len(room)) > most+1 {
			room = room[:most+1-int64(len(buf))]
		}
		n, err := f.ReadAt(room, int64(len(buf)))
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) || err == nil && int64(len(buf)) > most {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		buf = slices.Grow(buf, 512)
	}
}

// spelled reports whether each segment of rel is spelled as its directory spells it: a case-folding disk opens others too.
// What the index knows was spelled by the disk.
func (r *Root) spelled(rel string) (bool, error) {
	r.mu.RLock()
	d, rest := r.tree.descend(rel)
	known := rest == "" || d.file(rest) != nil
	r.mu.RUnlock()
	at := strings.TrimSuffix(strings.TrimSuffix(rel, rest), "/")
	for !known {
		seg, after, _ := strings.Cut(rest, "/")
		list, err := r.readDir(at, -1)
		if err != nil || !slices.ContainsFunc(list, func(e entry) bool { return e.name == seg }) {
			return false, err
		}
		at, rest = join(at, seg), after
		known = rest == ""
	}
	return true, nil
}

// readDirectory lists the children of a visible directory (RFC 2483, 5: one URI a line, CRLF).
func (r *Root) readDirectory(ctx context.Context, uri, rel string, room int64, updated bool) (out mcp.Contents, err error) {
	if !updated {
		return out, errStale
	}
	var d *dir
	err = r.await(ctx, func() bool {
		var rest string
		d, rest = r.tree.descend(rel)
		if rest != "" {
			if d.loaded {
				d = nil
				return true
			}
			return false
		}
		return d.loaded
	})
	if err != nil {
		return out, err
	}
	if d == nil {
		return out, errAbsent
	}
	r.mu.RLock()
	files, dirs := d.files, d.dirs
	r.mu.RUnlock()
	prefix := r.base.prefix
	if rel != "" {
		prefix += escape(rel) + "/"
	}
	size := len("\r\n") * (files.len() + dirs.len())
	for f := range files.all() {
		size += len(prefix) + escapedLen(f.name)
	}
	for sub := range dirs.all() {
		size += len(prefix) + escapedLen(sub.name) + len("/")
	}
	if err := r.fits(uri, int64(size), room); err != nil {
		return out, err
	}
	data := make([]byte, 0, size)
	for f := range files.all() {
		data = append(appendEscaped(append(data, prefix...), f.name), "\r\n"...)
	}
	for sub := range dirs.all() {
		data = append(appendEscaped(append(data, prefix...), sub.name), "/\r\n"...)
	}
	return mcp.Contents{URI: uri, MIMEType: "text/uri-list", Data: data, Text: true}, nil
}

// sniffFile finds the type of a file by its first bytes.
func (r *Root) sniffFile(rel string) (kind uint32, err error) {
	for range looks {
		if kind, err = r.sniffOnce(rel); !errors.Is(err, errMoved) {
			break
		}
	}
	return kind, err
}

func (r *Root) sniffOnce(rel string) (kind uint32, err error) {
	where, err := r.locate(rel)
	if err != nil {
		return 0, err
	}
	defer where.close()
	f, _, err := where.open()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var head [sniffLen]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return sniff(head[:n]), nil
}
