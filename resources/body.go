package resources

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// bodyBlock is how many bytes of a large file are held at a time: a multiple of three, as mcp.Body has it, of which the base64
// takes 60 KiB.
const bodyBlock = 45 << 10

// body is a large file that was read once, to learn what it is, and is read again to be handed out. Whatever is written to it
// meanwhile, the second reading gives what the first one saw, or an error. It implements [Body].
type body struct {
	*survey
	f      content
	block  *[bodyBlock]byte // nil once it is closed
	forget func()           // lets nobody go by this state of the file any more; nil: nobody does
}

// survey is what the first reading of a large file has found. Immutable.
type survey struct {
	sums     []uint64 // of the blocks
	size     int64    // bytes
	measured int64
	asked    bool // somebody was asked for that
	text     bool
	head     []byte // its first bytes
}

var blocks = sync.Pool{New: func() any { return new([bodyBlock]byte) }}

// readBody reads f as readWhole does, block by block, unless that was done before. The body closes it; who gets an error does so.
func (r *Root) readBody(ctx context.Context, uri string, f content, before fs.FileInfo, measure func([]byte) int) (*body, error) {
	b := &body{f: f, block: blocks.Get().(*[bodyBlock]byte)}
	for range attempts {
		was, began := newStat(before, r.who), time.Now()
		err := r.fits(uri, before.Size(), r.maxSize)
		if known := r.surveys.of(was, measure != nil); err == nil && known != nil {
			b.survey = known
			b.forget = func() { r.surveys.forget(was) }
			return b, nil
		}
		if err == nil {
			b.survey, err = b.look(ctx, r.maxSize, measure)
		}
		var after fs.FileInfo
		if err == nil {
			after, err = f.Stat()
		}
		if err == nil {
			err = r.fits(uri, b.size, r.maxSize) // the size was not true, or is no longer
		}
		if err != nil {
			b.recycle()
			return nil, err
		}
		if was.untorn(newStat(after, r.who)) {
			if r.surveys.keep(was, b.survey, began) {
				b.forget = func() { r.surveys.forget(was) }
			}
			break
		}
		before = after
	}
	return b, nil
}

// look reads all of the file, or little more than most bytes.
func (b *body) look(ctx context.Context, most int64, measure func([]byte) int) (*survey, error) {
	s := &survey{asked: measure != nil}
	text := newTextCheck()
	for s.size <= most {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		block, err := b.read(s.size)
		if err != nil {
			return nil, err
		}
		if len(block) == 0 {
			break
		}
		if s.size == 0 {
			s.head = append(s.head, block[:min(len(block), sniffLen)]...)
		}
		s.size += int64(len(block))
		s.sums = append(s.sums, sum(block))
		if text.add(block); measure != nil && !text.bad() {
			s.measured += int64(measure(block))
		}
		if len(block) < bodyBlock {
			break
		}
	}
	s.text = text.good()
	return s, nil
}

// read reads the block at an offset. It is short at the end of the file only.
func (b *body) read(off int64) ([]byte, error) {
	n := 0
	for n < bodyBlock {
		more, err := b.f.ReadAt(b.block[n:], off+int64(n))
		n += more
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return b.block[:n], nil
}

func (b *body) Size() int64     { return b.size }
func (b *body) Measured() int64 { return b.measured }
func (b *body) Blocks() int     { return len(b.sums) }

// Block implements [Body]. What was appended to the file is not part of it.
func (b *body) Block(i int) ([]byte, error) {
	off := int64(i) * bodyBlock
	block, err := b.read(off)
	if err != nil {
		return nil, b.changed() // it could be read before
	}
	block = block[:min(int64(len(block)), b.size-off)]
	if sum(block) != b.sums[i] {
		return nil, b.changed()
	}
	return block, nil
}

func (b *body) changed() error {
	if b.forget != nil {
		b.forget()
	}
	return mcp.ErrChanged
}

// Close implements [Body].
func (b *body) Close() {
	b.f.Close()
	b.recycle()
}

func (b *body) recycle() {
	blocks.Put(b.block)
	b.block = nil
}
