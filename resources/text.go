package resources

import "encoding/binary"

// textCheck tells whether blocks are valid UTF-8 together. It goes from state to state with each byte, and over words of ASCII in
// one step. To ask [utf8.Valid] takes twice as long where ASCII and other letters are mixed, and half as long again where there is
// no ASCII.
type textCheck struct {
	state uint64 // the last six bits are one of the states below, those above mean nothing
}

// isText reports whether data is valid UTF-8.
func isText(data []byte) bool {
	t := newTextCheck()
	t.add(data)
	return t.good()
}

func newTextCheck() textCheck { return textCheck{state: between} }

// good reports whether all that was added is text.
func (t *textCheck) good() bool { return t.state&anyState == between }

// bad reports whether it is no text, whatever follows.
func (t *textCheck) bad() bool { return t.state&anyState == broken }

func (t *textCheck) add(block []byte) {
	const tops = 0x8080808080808080 // of bytes that are not ASCII
	if t.bad() {
		return
	}
	s := t.state
	for len(block) >= 8 {
		if s&anyState == between && word(block)&tops == 0 {
			block = block[8:]
			for len(block) >= 32 && (word(block)|word(block[8:])|word(block[16:])|word(block[24:]))&tops == 0 {
				block = block[32:]
			}
			continue
		}
		s = utf8Steps[block[0]] >> (s & anyState) // not in a loop, which takes half as long again
		s = utf8Steps[block[1]] >> (s & anyState)
		s = utf8Steps[block[2]] >> (s & anyState)
		s = utf8Steps[block[3]] >> (s & anyState)
		s = utf8Steps[block[4]] >> (s & anyState)
		s = utf8Steps[block[5]] >> (s & anyState)
		s = utf8Steps[block[6]] >> (s & anyState)
		s = utf8Steps[block[7]] >> (s & anyState)
		block = block[8:]
	}
	for _, c := range block {
		s = utf8Steps[c] >> (s & anyState)
	}
	t.state = s
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// The states of a textCheck. Each is where in a word of utf8Steps the next one is found.
const (
	broken  = 6 * iota // no text; nothing leads out of it
	between            // between two characters
	oneMore            // so many bytes of a character follow
	twoMore
	threeMore
	afterE0 // two or three follow, and the first of them may not be any
	afterED
	afterF0
	afterF4

	anyState = 1<<6 - 1
)

// utf8Steps holds for each byte where it leads to from each state, six bits for one. The rows are those of table 3-7 of the Unicode
// Standard; what is in none of them leads to broken, which is 0.
var utf8Steps = func() (t [256]uint64) {
	for _, row := range []struct {
		from        uint64
		first, last byte
		to          uint64
	}{
		{between, 0x00, 0x7f, between},
		{between, 0xc2, 0xdf, oneMore},
		{between, 0xe0, 0xe0, afterE0},
		{between, 0xe1, 0xec, twoMore},
		{between, 0xed, 0xed, afterED},
		{between, 0xee, 0xef, twoMore},
		{between, 0xf0, 0xf0, afterF0},
		{between, 0xf1, 0xf3, threeMore},
		{between, 0xf4, 0xf4, afterF4},
		{afterE0, 0xa0, 0xbf, oneMore}, // the others could be written with a byte less
		{afterED, 0x80, 0x9f, oneMore}, // the others are halves of surrogate pairs
		{afterF0, 0x90, 0xbf, twoMore}, // as after E0
		{afterF4, 0x80, 0x8f, twoMore}, // the others are beyond U+10FFFF
		{threeMore, 0x80, 0xbf, twoMore},
		{twoMore, 0x80, 0xbf, oneMore},
		{oneMore, 0x80, 0xbf, between},
	} {
		for c := int(row.first); c <= int(row.last); c++ {
			t[c] |= row.to << row.from
		}
	}
	return t
}()
