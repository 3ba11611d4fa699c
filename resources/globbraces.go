package resources

import (
	"fmt"
	"slices"
	"strings"
)

const (
	mostAlternatives = 1000
	mostGlob         = 4096 // bytes of a pattern; no directory has a longer path
)

// spelling is a pattern with one alternative chosen in each pair of braces.
type spelling struct {
	text  string
	where []int // the place of each byte in the pattern
}

// place returns where the byte i is in the pattern.
func (s *spelling) place(i int) int {
	switch {
	case i < len(s.where):
		return s.where[i]
	case i > 0:
		return s.where[i-1] + 1
	}
	return 0
}

// expand returns the spellings of a pattern. The error is a *GlobError.
func expand(pattern string) ([]spelling, error) {
	b := braces{in: pattern}
	if len(pattern) > mostGlob {
		return nil, b.fail(mostGlob, fmt.Sprintf("longer than %d bytes", mostGlob))
	}
	if strings.IndexByte(pattern, '{') < 0 {
		b.i = len(pattern)
		return []spelling{b.since(0)}, nil
	}
	list, err := b.sequence(false)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// braces reads a pattern from left to right.
type braces struct {
	in string
	i  int
}

// sequence reads up to the end, or to the comma or brace that ends an alternative.
func (b *braces) sequence(inBraces bool) (list []spelling, err *GlobError) {
	list = []spelling{{}}
	start := b.i
	for ; b.i < len(b.in); b.i++ {
		switch c := b.in[b.i]; {
		case c == '\\' && b.i+1 < len(b.in):
			b.i++
		case c == '{':
			at := b.i
			list = product(list, []spelling{b.since(start)})
			group, err := b.group()
			if err != nil {
				return nil, err
			}
			if len(list)*len(group) > mostAlternatives {
				return nil, b.tooMany(at)
			}
			list = product(list, group)
			start = b.i
			b.i--
		case inBraces && (c == ',' || c == '}'):
			return product(list, []spelling{b.since(start)}), nil
		}
	}
	return product(list, []spelling{b.since(start)}), nil
}

// group reads a pair of braces.
func (b *braces) group() (list []spelling, err *GlobError) {
	at := b.i
	for {
		b.i++
		more, err := b.sequence(true)
		if err != nil {
			return nil, err
		}
		if list = append(list, more...); len(list) > mostAlternatives {
			return nil, b.tooMany(at)
		}
		if b.i == len(b.in) {
			return nil, b.fail(at, `a brace that is not closed: write \{ for the character`)
		}
		if b.in[b.i] == '}' {
			b.i++
			return list, nil
		}
	}
}

// since returns what was read from start on.
func (b *braces) since(start int) spelling {
	s := spelling{text: b.in[start:b.i], where: make([]int, b.i-start)}
	for i := range s.where {
		s.where[i] = start + i
	}
	return s
}

// product appends each of the ends to each of the starts.
func product(starts, ends []spelling) []spelling {
	out := make([]spelling, 0, len(starts)*len(ends))
	for _, s := range starts {
		for _, e := range ends {
			out = append(out, spelling{s.text + e.text, slices.Concat(s.where, e.where)})
		}
	}
	return out
}

func (b *braces) tooMany(at int) *GlobError {
	return b.fail(at, fmt.Sprintf("more than %d alternatives", mostAlternatives))
}

func (b *braces) fail(at int, reason string) *GlobError { return &GlobError{b.in, at, reason} }
