package resources

import "strings"

// arena makes many small strings in few pieces of memory. The zero value is ready to use.
type arena struct{ piece strings.Builder }

// arenaPiece is how many bytes a piece has: who keeps one string of it keeps so many.
const arenaPiece = 16 << 10

// join returns both strings as one.
func (a *arena) join(s, t string) string {
	start := a.room(len(s) + len(t))
	a.piece.WriteString(s)
	a.piece.WriteString(t)
	return a.piece.String()[start:]
}

// keep returns a copy of text.
func (a *arena) keep(text []byte) string {
	start := a.room(len(text))
	a.piece.Write(text)
	return a.piece.String()[start:]
}

// room makes sure that n bytes can be appended without a move of those that are there, and returns where.
func (a *arena) room(n int) (start int) {
	if a.piece.Cap()-a.piece.Len() < n {
		a.piece.Reset()
		a.piece.Grow(max(n, arenaPiece))
	}
	return a.piece.Len()
}
