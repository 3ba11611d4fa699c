package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// errLongLine reports a line above the limit. It is returned as soon as the limit is passed; the rest of the line is
// skipped by the next call.
var errLongLine = errors.New("line is too long")

// lineReader cuts a byte stream into lines: "Messages are delimited by newlines, and MUST NOT contain embedded
// newlines" (basic/transports/stdio).
type lineReader struct {
	in    io.Reader
	max   int    // bytes of a line without its end
	buf   []byte // buf[start:end] is read and not yet returned
	start int
	end   int
	skip  bool      // the rest of a long line is to be skipped
	err   error     // what ended the input; returned after the last line
	last  time.Time // when something was read
	idle  bool      // nobody has anything to do, so that the next read need not give way

	// reading is where a read that goes on by itself reports, nil if there is none. It has a buffer of 1 and is never
	// closed. Until it has reported buf[end:] is the read's.
	reading chan arrival
}

// arrival is what a read has brought: so many bytes at the end of what was there, and what ended the input.
type arrival struct {
	n   int
	err error
}

// keptBuffer is the size in bytes the buffer starts with and shrinks to after a longer line.
const keptBuffer = 64 << 10

// readAhead is how many bytes are read while no line is taken. It is far more than a pipe holds.
const readAhead = 8 << 20

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: in, max: limit, buf: make([]byte, keptBuffer)}
}

// next returns the next line that is not blank, without its end. It is valid until the following call. A last line
// needs no newline. After [errLongLine], which comes with the line's beginning, reading goes on; every other error is
// final.
func (l *lineReader) next() ([]byte, error) {
	scanned := 0 // bytes after start that hold no newline
	for {
		pending := l.buf[l.start:l.end]
		if i := bytes.IndexByte(pending[scanned:], '\n'); i >= 0 {
			line := pending[:scanned+i]
			l.start += len(line) + 1
			scanned = 0
			if line, ok, err := l.judge(line); ok || err != nil {
				return line, err
			}
			continue
		}
		scanned = len(pending)
		if l.skip {
			l.start, scanned = l.end, 0
		} else if len(pending) > l.max+1 { // a carriage return is not part of the line
			l.start, l.skip = l.end, true
			return pending[:l.max], errLongLine
		}
		if l.err != nil {
			l.start = l.end
			if line, ok, err := l.judge(pending[:scanned]); ok || err != nil {
				return line, err
			}
			return nil, l.err
		}
		l.fill()
	}
}

// more reports whether there is more than the lines that were returned.
func (l *lineReader) more() bool { return l.start < l.end || l.reading != nil }

// judge says what becomes of a whole line; ok is false if it is blank or the rest of a long one.
func (l *lineReader) judge(line []byte) (_ []byte, ok bool, err error) {
	if l.skip {
		l.skip = false
		return nil, false, nil
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > l.max {
		return line[:l.max], false, errLongLine
	}
	return line, len(bytes.TrimLeft(line, " \t\r")) > 0, nil
}

// fill reads once more, after making room.
func (l *lineReader) fill() {
	if l.reading != nil {
		l.arrived(<-l.reading)
		return
	}
	switch {
	case l.start == l.end:
		l.empty()
	case l.end < len(l.buf)/2 || l.start == 0 && l.end < len(l.buf):
	case l.start > 0:
		l.compact()
	default:
		l.grow(l.max + keptBuffer)
	}
	if !l.idle {
		giveWay()
	}
	l.idle = false
	n, err := readSome(l.in, l.buf[l.end:])
	l.arrived(arrival{n, err})
}

// giveWay lets those who serve and write what was read go first. A read that waits keeps its processor until the runtime takes
// it away, which is 20 µs to 10 ms later: with a single one nobody answers before. An answer takes three turns: of who
// serves, of the writer, and of the writer again, which finds nothing more and waits. Where the others have more to do than
// that, the next message, which may cancel some of it, comes first.
func giveWay() {
	const most = 100 * time.Microsecond
	start := time.Now()
	for turn := 0; turn < 3 && time.Since(start) < most; turn++ {
		runtime.Gosched()
	}
}

// ahead lets a read go on by itself, for a caller that waits for something else as well. What the channel reports is to
// be given to arrived. It is nil once the input has ended, or when enough has been read.
func (l *lineReader) ahead() <-chan arrival {
	if l.reading != nil || l.err != nil {
		return l.reading
	}
	switch {
	case l.start == l.end:
		l.empty()
	case l.end < len(l.buf):
	case l.start >= len(l.buf)/2: // or each line taken would move all the others
		l.compact()
	case len(l.buf) < readAhead:
		l.grow(readAhead)
	default:
		return nil
	}
	reading, free := make(chan arrival, 1), l.buf[l.end:]
	go func() {
		n, err := readSome(l.in, free)
		reading <- arrival{n, err}
	}()
	l.reading = reading
	return reading
}

func (l *lineReader) arrived(a arrival) {
	l.reading = nil
	l.last = time.Now()
	l.end += a.n
	l.err = a.err
}

func (l *lineReader) empty() {
	l.start, l.end = 0, 0
	if len(l.buf) > keptBuffer {
		l.buf = make([]byte, keptBuffer)
	}
}

func (l *lineReader) compact() {
	l.end = copy(l.buf, l.buf[l.start:l.end])
	l.start = 0
}

func (l *lineReader) grow(limit int) {
	grown := make([]byte, min(2*len(l.buf), limit))
	l.end = copy(grown, l.buf[l.start:l.end])
	l.start = 0
	l.buf = grown
}

// readSome reads at least a byte, unless the input ends.
func readSome(in io.Reader, buf []byte) (int, error) {
	const patience = 100 // empty reads in a row, as in bufio
	for range patience {
		if n, err := in.Read(buf); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// leadingID finds the id of a message of which only the beginning is known, if it is there, so that the client learns
// which request was refused. It is zero otherwise.
func leadingID(beginning []byte) jsonrpc.ID {
	id, _ := jsonrpc.ParseID(leading(beginning, "id"))
	return id
}

// leading finds a member of a message of which only the beginning is known, nil if it is not there as a whole.
func leading(beginning []byte, member string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(beginning))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		if d.InputOffset() == int64(len(beginning)) {
			return nil // the value may go on
		}
		if name == member {
			return value
		}
	}
}

// leadingText is a leading member that is a string, empty if it is not there.
func leadingText(beginning []byte, member string) string {
	raw := leading(beginning, member)
	if raw == nil {
		return ""
	}
	value, _ := jsonrpc.Text(raw)
	return value
}
