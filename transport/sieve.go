package transport

import "bytes"

// sieve lets a stream of bytes through, line by line, but for the lines that somebody takes. What it lets through it changes
// in nothing: not in its line ends, nor in whether the last line has one. It is used by one goroutine at a time.
type sieve struct {
	// limit is how many bytes of a line are held back until its end has come.
	limit int
	// judge says whether a whole line, with its end, is let through. It must keep nothing of it.
	judge func(line []byte) bool
	// begun says the same of a line that is longer than limit, of which it sees the beginning.
	begun func(beginning []byte) bool
	// pass lets bytes through. They end in the middle of a line if open is set, and the next are the rest of it.
	pass func(p []byte, open bool) error

	held []byte // the beginning of a line that has not ended
	rest rest   // what becomes of the rest of a line above the limit
}

// rest says what becomes of the rest of a long line.
type rest uint8

const (
	noRest rest = iota
	passRest
	skipRest
)

// write takes further bytes. Lines that come whole are passed together and are not copied. n is how many of p had been
// dealt with before the first error.
func (s *sieve) write(p []byte) (n int, err error) {
	from, at := 0, 0 // p[from:at] is to be passed
	flush := func(to int) error {
		if err := s.emit(p[from:at]); err != nil {
			return err
		}
		from = to
		return nil
	}
	for at < len(p) {
		end, whole := len(p), false
		if i := bytes.IndexByte(p[at:], '\n'); i >= 0 {
			end, whole = at+i+1, true
		}
		switch {
		case s.rest == passRest:
		case s.rest == skipRest:
			err = flush(end)
		case !whole || len(s.held) > 0:
			if err = flush(end); err == nil {
				err = s.hold(p[at:end], whole)
			}
		case !s.judge(p[at:end]):
			err = flush(end)
		}
		if err != nil {
			return from, err
		}
		if whole {
			s.rest = noRest
		}
		at = end
	}
	return at, flush(at)
}

// hold adds to the line that is held back, and decides what becomes of it if it has ended or is too long.
func (s *sieve) hold(p []byte, whole bool) error {
	s.held = append(s.held, p...)
	through := false
	switch {
	case whole:
		through = s.judge(s.held)
	case len(s.held) <= s.limit:
		return nil
	case s.begun(s.held):
		through, s.rest = true, passRest
	default:
		s.rest = skipRest
	}
	return s.release(through)
}

// release ends the holding back.
func (s *sieve) release(through bool) error {
	line := s.held
	s.held = s.held[:0]
	if cap(line) > keptBuffer {
		s.held = nil
	}
	if !through {
		return nil
	}
	return s.emit(line)
}

// end is told when nothing more comes: what is held back is a line without an end.
func (s *sieve) end() error {
	if len(s.held) == 0 {
		return nil
	}
	return s.release(s.judge(s.held))
}

func (s *sieve) emit(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	return s.pass(p, s.rest == passRest)
}
