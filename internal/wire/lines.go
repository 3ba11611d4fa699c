package wire

import (
	"bufio"
	"bytes"
	"io"
	"slices"
)

// lineReader reads lines up to a length and passes over what is longer, in bounded memory.
type lineReader struct {
	in     *bufio.Reader
	max    int
	cr     bool   // a carriage return ends a line too, alone or before a line feed
	skipLF bool   // a line feed that comes now belongs to the end of the line before
	tail   []byte // the end of the line, if it was above the limit
}

// tailBytes is how much is kept of the end of what is too long.
const tailBytes = 128

func newLineReader(in io.Reader, max int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), max: max}
}

// next returns a line without its end, which the caller may keep. long says that it was above the limit: then only its
// beginning is returned. A last line that has no end comes with the error. A carriage return ends a line at once: what
// follows may not come for hours.
func (l *lineReader) next() (line []byte, long bool, err error) {
	for {
		if _, err := l.in.Peek(1); err != nil {
			return line, long, err
		}
		chunk, _ := l.in.Peek(l.in.Buffered())
		if l.skipLF {
			l.skipLF = false
			if chunk[0] == '\n' {
				_, _ = l.in.Discard(1)
				continue
			}
		}
		end := l.end(chunk)
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		room := l.max - len(line)
		if len(part) > room {
			if !long {
				l.tail = slices.Clone(line[max(0, len(line)-tailBytes):])
			}
			long = true
			l.tail = append(l.tail, part...)
			l.tail = l.tail[max(0, len(l.tail)-tailBytes):]
			part = part[:room]
		}
		line = append(line, part...)
		if end < 0 {
			_, _ = l.in.Discard(len(chunk))
			continue
		}
		l.skipLF = chunk[end] == '\r'
		_, _ = l.in.Discard(end + 1)
		return line, long, nil
	}
}

// end is the index of what ends a line, negative if there is none.
func (l *lineReader) end(chunk []byte) int {
	lf := bytes.IndexByte(chunk, '\n')
	if !l.cr {
		return lf
	}
	if lf >= 0 {
		chunk = chunk[:lf]
	}
	if cr := bytes.IndexByte(chunk, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
