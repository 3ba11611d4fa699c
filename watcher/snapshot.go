package watcher

import (
	"encoding/binary"
	"iter"
)

// snapshot is the names in a directory, sorted, with their signatures, in one piece of memory: some 30 bytes a name, and
// nothing for the garbage collector to follow.
type snapshot []byte

func (s *snapshot) add(name string, sig signature) {
	*s = binary.LittleEndian.AppendUint64(*s, uint64(sig))
	*s = binary.AppendUvarint(*s, uint64(len(name)))
	*s = append(*s, name...)
}

// all yields the names in order. They are valid for the moment only.
func (s snapshot) all() iter.Seq2[[]byte, signature] {
	return func(yield func([]byte, signature) bool) {
		for len(s) > 0 {
			sig := signature(binary.LittleEndian.Uint64(s))
			size, n := binary.Uvarint(s[8:])
			name := s[8+n:][:size]
			if !yield(name, sig) {
				return
			}
			s = s[8+n+len(name):]
		}
	}
}
