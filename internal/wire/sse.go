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
	var e sseEvent
	some, other := false, false
	for {
		line, long, err := s.lines.next()
		if err != nil {
			return sseEvent{}, err
		}
		if !s.begun {
			s.begun = true
			line = trimPrefix(line, "\ufeff")
		}
		if len(line) == 0 {
			if some || other {
				if other || len(e.data) == 0 && !e.long {
					return sseEvent{comment: true}, nil
				}
				return e, nil
			}
			continue
		}
		name, value := field(line)
		switch name {
		case "":
			if !some && !other {
				return sseEvent{comment: true}, nil
			}
		case "data":
			if some {
				e.data = append(e.data, '\n')
				e.data = append(e.data, value...)
			} else {
				e.data = value
			}
			some = true
			if e.long = e.long || long || len(e.data) > s.max; len(e.data) > s.max {
				e.data = e.data[:s.max]
			}
		case "event":
			other = string(value) != "message" && len(value) > 0
		}
	}
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
