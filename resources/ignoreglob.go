package resources

import (
	"slices"
	"strings"

	"github.com/gobwas/glob"
)

// translate compiles a gitignore pattern, without its leading and trailing slash. gobwas knows alternatives, ranges and
// "**" in other places than git, and matches runes where git matches bytes, so nothing but literals, "?", "*", whole
// "**" segments and explicit sets is passed on, with one rune for each byte. Not ok: the pattern never matches.
func translate(pattern string) (p *glob.Pattern, ok bool) {
	t := translation{in: pattern, start: true}
	for t.i < len(t.in) {
		if !t.step() {
			return nil, false
		}
	}
	p, err := (&glob.Compiler{Separators: []rune{'/'}, Globstar: true}).Compile(t.out.String())
	return p, err == nil
}

type translation struct {
	in    string
	i     int
	start bool // at the start of a segment
	out   strings.Builder

	unknown string // the name of a class that there is not
}

func (t *translation) step() bool {
	c := t.in[t.i]
	t.i++
	first := t.start
	t.start = false
	switch c {
	case '*':
		t.stars(first)
	case '?':
		t.out.WriteByte('?')
	case '[':
		set, ok := t.class()
		return ok && t.set(set)
	case '/':
		t.slash()
	case '\\':
		if t.i == len(t.in) {
			return false // a lone backslash matches nothing
		}
		c = t.in[t.i]
		t.i++
		if c == '/' {
			t.slash()
		} else {
			t.literal(c)
		}
	default:
		t.literal(c)
	}
	return true
}

func (t *translation) slash() {
	t.out.WriteByte('/')
	t.start = true
}

// stars writes a run of stars: "**" where it is a whole segment, else "*".
func (t *translation) stars(first bool) {
	run := 1
	for t.i < len(t.in) && t.in[t.i] == '*' {
		t.i++
		run++
	}
	rest := t.in[t.i:]
	switch {
	case run > 1 && first && strings.HasPrefix(rest, `\/`):
		t.out.WriteString("**/*") // git: an escaped slash ends the segment, but the segment is not empty then
	case run > 1 && first && (rest == "" || rest[0] == '/'):
		t.out.WriteString("**")
	default:
		t.out.WriteByte('*')
	}
}

func (t *translation) literal(c byte) {
	if strings.IndexByte(`*?[]{}\,!-^`, c) >= 0 {
		t.out.WriteByte('\\')
	}
	t.out.WriteRune(rune(c))
}

// byteSet is a set of bytes.
type byteSet [256]bool

// class parses a character class after its "[" by git's own rules. Not ok: it is unclosed or names an unknown class.
func (t *translation) class() (set byteSet, ok bool) {
	negated := t.peek(0) == '!' || t.peek(0) == '^'
	if negated {
		t.i++
	}
	var prev byte
	for first := true; first || t.peek(0) != ']'; first = false {
		if prev, ok = t.member(&set, prev); !ok {
			return set, false
		}
	}
	t.i++
	if negated {
		for b := range set {
			set[b] = !set[b]
		}
	}
	set['/'], set[0] = false, false
	return set, true
}

// member adds to set the next byte, range or named class. A byte that a range may start with is returned, and is prev the
// next time; 0 for none.
func (t *translation) member(set *byteSet, prev byte) (start byte, ok bool) {
	switch c, next := t.peek(0), t.peek(1); {
	case c == '-' && prev != 0 && next != 0 && next != ']':
		t.i++
		end, ok := t.char()
		for b := int(prev); b <= int(end); b++ {
			set[b] = true
		}
		return 0, ok
	case c == '[' && next == ':':
		t.i++
		name, closed := t.posix()
		if name != "" {
			if ok = set.addPosix(name[1:]); !ok {
				t.unknown = name[1:]
			}
			return 0, ok
		}
		set[c] = true
		return c, closed
	}
	start, ok = t.char()
	set[start] = true
	return start, ok
}

// char reads a byte, or the one that a backslash keeps. Not ok: there is none.
func (t *translation) char() (c byte, ok bool) {
	if t.peek(0) == '\\' {
		t.i++
	}
	c = t.peek(0)
	t.i++
	return c, c != 0
}

// peek returns the byte n ahead, 0 at the end; a pattern holds no NUL.
func (t *translation) peek(n int) byte {
	if t.i+n < len(t.in) {
		return t.in[t.i+n]
	}
	return 0
}

// posix reads "[:name:]" from its ":" on and returns ":name". An empty name means that it is no such thing and nothing was
// read; not closed, that no "]" follows at all.
func (t *translation) posix() (name string, closed bool) {
	end := strings.IndexByte(t.in[t.i:], ']')
	if end < 0 {
		return "", false
	}
	if end < 2 || t.in[t.i+end-1] != ':' {
		return "", true
	}
	name = t.in[t.i : t.i+end-1]
	t.i += end + 1
	return name, true
}

func (s *byteSet) addPosix(name string) bool {
	in, ok := posixClasses[name]
	if !ok {
		return false
	}
	for b := range s {
		s[b] = s[b] || b < 128 && in(byte(b))
	}
	return true
}

var posixClasses = map[string]func(byte) bool{
	"alnum":  func(c byte) bool { return alpha(c) || digit(c) },
	"alpha":  alpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 127 },
	"digit":  digit,
	"graph":  func(c byte) bool { return c > ' ' && c < 127 },
	"lower":  lower,
	"print":  func(c byte) bool { return c >= ' ' && c < 127 },
	"punct":  func(c byte) bool { return c > ' ' && c < 127 && !alpha(c) && !digit(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  upper,
	"xdigit": func(c byte) bool { return digit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' },
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
func alpha(c byte) bool { return lower(c) || upper(c) }
func digit(c byte) bool { return '0' <= c && c <= '9' }

// set writes a set as an explicit class, the smaller of itself and its complement. Not ok: it is empty.
func (t *translation) set(in byteSet) bool {
	var members, others []byte
	for b := 1; b < 256; b++ {
		if in[b] {
			members = append(members, byte(b))
		} else {
			others = append(others, byte(b))
		}
	}
	switch {
	case len(members) == 0:
		return false
	case len(members) == 1:
		t.literal(members[0])
	case len(members) <= len(others):
		t.list("[", members)
	default:
		t.list("[!", others) // "/" is never a member, so it is among them
	}
	return true
}

// list writes the dash last and never in the second place, where gobwas takes it for a range.
func (t *translation) list(open string, members []byte) {
	t.out.WriteString(open)
	rest := slices.DeleteFunc(slices.Clone(members), func(c byte) bool { return c == '-' })
	dash := len(rest) < len(members)
	if dash && len(rest) == 1 {
		rest = append(rest, rest[0])
	}
	for _, c := range rest {
		if strings.IndexByte(`\]![^`, c) >= 0 {
			t.out.WriteByte('\\')
		}
		t.out.WriteRune(rune(c))
	}
	if dash {
		t.out.WriteString(`\-`)
	}
	t.out.WriteByte(']')
}

// byteRunes maps each byte to the rune of the same number, as the patterns are compiled.
func byteRunes(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			out := make([]rune, len(s))
			for j := 0; j < len(s); j++ {
				out[j] = rune(s[j])
			}
			return string(out)
		}
	}
	return s
}
