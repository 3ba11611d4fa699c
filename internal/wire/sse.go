package wire

import "io"

// sseReader reads server-sent events (WHATWG HTML, section 9.2). Of their fields it keeps the data alone: resuming a stream
// by the id of an event is no part of 2026-07-28, and a client that reconnects fetches anew in any case.
type sseReader struct {
	lines *lineReader
	max   int
	begun bool // the first line was read, so that no byte order mark is skipped any more
}

// sseEvent is one thing a stream said: an event with data, or a comment.
type sseEvent struct {
	data    []byte
	long    bool // data is the beginning of what was above the limit
	comment bool
}

func newSSEReader(in io.Reader, max int) *sseReader {
	// The name of the field and an end of the line come on top of the data.
	lines := newLineReader(in, max+len("data: "))
	lines.cr = true
	return &sseReader{lines: lines, max: max}
}

// next returns what comes next. An event that is cut off by the end of the stream is none, as the standard has it.
// Events of another type than "message" count as comments: MCP has none.
func (s *sseReader) next() (sseEvent, error) {
	var b block
	for {
		line, long, err := s.lines.next()
		if err != nil {
			return sseEvent{}, err
		}
		if !s.begun {
			s.begun = true
			line = trimPrefix(line, "\ufeff")
		}
		switch name, value := field(line); {
		case len(line) == 0 && b.begun:
			return b.event(), nil
		case len(line) == 0:
		case name == "" && !b.begun:
			return sseEvent{comment: true}, nil
		default:
			b.add(name, value, long, s.max)
		}
	}
}

// block is an event whose lines are still coming.
type block struct {
	begun  bool // there was a line with a field that counts
	named  bool // of another type than "message"
	filled bool // there was a line of data
	long   bool
	data   []byte
}

// add takes one field, and no more data than max.
func (b *block) add(name string, value []byte, long bool, max int) {
	switch name {
	case "event":
		b.named = len(value) > 0 && string(value) != "message"
	case "data":
		if b.filled {
			b.data = append(append(b.data, '\n'), value...)
		} else {
			b.data, b.filled = value, true
		}
		if b.long = b.long || long || len(b.data) > max; len(b.data) > max {
			b.data = b.data[:max]
		}
	default:
		return
	}
	b.begun = true
}

func (b *block) event() sseEvent {
	if b.named || len(b.data) == 0 && !b.long {
		return sseEvent{comment: true}
	}
	return sseEvent{data: b.data, long: b.long}
}

// field splits a line at its colon. A line that begins with a colon has no name: it is a comment.
func field(line []byte) (name string, value []byte) {
	for i, c := range line {
		if c == ':' {
			return string(line[:i]), trimPrefix(line[i+1:], " ")
		}
	}
	return string(line), nil
}

func trimPrefix(line []byte, prefix string) []byte {
	if len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix {
		return line[len(prefix):]
	}
	return line
}
