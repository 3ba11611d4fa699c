package resources

import "unicode/utf8"

// textCheck tells whether blocks are valid UTF-8 together.
type textCheck struct {
	open [utf8.UTFMax]byte // a character that goes on in the next block
	n    int               // bytes of it
	bad  bool
}

func (t *textCheck) add(block []byte) {
	for t.n > 0 && len(block) > 0 {
		t.open[t.n] = block[0]
		t.n++
		block = block[1:]
		if utf8.FullRune(t.open[:t.n]) {
			t.bad = t.bad || !utf8.Valid(t.open[:t.n])
			t.n = 0
		}
	}
	for i := 1; i <= min(len(block), utf8.UTFMax-1); i++ {
		last := block[len(block)-i:]
		if !utf8.RuneStart(last[0]) {
			continue
		}
		if !utf8.FullRune(last) {
			t.n = copy(t.open[:], last)
			block = block[:len(block)-i]
		}
		break
	}
	t.bad = t.bad || !utf8.Valid(block)
}

// good reports whether all that was added is text.
func (t *textCheck) good() bool { return !t.bad && t.n == 0 }
