package resources

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

// base is the part of a root's URIs before the path: a literal prefix that ends in "/", after which everything is path.
type base struct {
	prefix   string   // "file:///srv/docs/"
	scheme   string   // "file"
	segments []string // decoded, the authority first: "", "srv", "docs"
}

// fileBase returns the file URI of an absolute directory, with its trailing slash.
func fileBase(dir string) string {
	p := filepath.ToSlash(dir)
	switch {
	case strings.HasPrefix(p, "//"): // a UNC path carries its own authority
		p = p[2:]
	case !strings.HasPrefix(p, "/"): // C:/dir
		p = "/" + p
	}
	uri := "file://" + escape(p)
	if !strings.HasSuffix(uri, "/") {
		uri += "/"
	}
	return uri
}

func newBase(prefix string) base {
	b := base{prefix: prefix}
	rest := prefix
	if scheme, after, ok := strings.Cut(prefix, "://"); ok {
		b.scheme, rest = scheme, after
	}
	if rest != "" {
		b.segments = strings.Split(strings.TrimSuffix(rest, "/"), "/")
	}
	for i, s := range b.segments {
		b.segments[i] = unescape(s)
	}
	return b
}

// CheckBase tells what is wrong with a URI base; the error wraps ErrBadBase. Clients take dot segments out of a URI, so that
// nothing below such a base would be found. That the slash at the end is missing is told only of what is right otherwise.
func CheckBase(prefix string) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrBadBase}, args...)...)
	}
	scheme, rest, ok := strings.Cut(prefix, ":")
	if !ok || !isScheme(scheme) {
		return wrong("it must start with a scheme, as in fs://")
	}
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '?' || c == '#':
			return wrong("no %q may be in it, since a path follows", c)
		case c == '%' && !isEscape(rest[i:]):
			return wrong("a %% must be followed by two hexadecimal digits")
		case !literal[c] && c != '%' && c != '[' && c != ']': // brackets are those of an IPv6 address
			r, _ := utf8.DecodeRuneInString(rest[i:])
			return wrong("%q must be percent-encoded", r)
		}
	}
	for seg := range strings.SplitSeq(rest, "/") {
		if seg = unescape(seg); seg == "." || seg == ".." {
			return wrong("no segment of it may be %q", seg)
		}
	}
	if !strings.HasSuffix(rest, "/") {
		return wrong(`it must end in "/"`)
	}
	return nil
}

// isScheme: RFC 3986, 3.1.
func isScheme(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		if letter := 'a' <= c && c <= 'z'; !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

func isEscape(s string) bool {
	if len(s) < len("%XX") || s[0] != '%' {
		return false
	}
	_, ok1 := unhex(s[1])
	_, ok2 := unhex(s[2])
	return ok1 && ok2
}

// template returns the URI template of all below the base.
func (b *base) template() string { return b.prefix + "{+path}" }

// uri returns the canonical URI of the file rel.
func (b *base) uri(rel string) string { return b.prefix + escape(rel) }

// key returns the canonical URI without a trailing slash, which is what subscriptions are keyed by. The key of the root
// itself is the prefix less its slash, so that it is an ancestor of every other key.
func (b *base) key(rel string) string {
	if rel == "" {
		return b.prefix[:len(b.prefix)-1]
	}
	return b.uri(rel)
}

// relOf turns a key back into a path.
func (b *base) relOf(key string) (rel string, ok bool) {
	if key == b.key("") {
		return "", true
	}
	rest, ok := strings.CutPrefix(key, b.prefix)
	if !ok {
		return "", false
	}
	return unescape(rest), true
}

// reading is one path that a client's URI can mean.
type reading struct {
	rel     string
	dirOnly bool // the URI ended in "/"
}

// parse returns what uri can mean below the base: the decoded reading first, then, if it is another path, the literal one
// (VS Code decodes a path and writes it again with fewer escapes, so that "a%20b" may be meant to the letter). Nothing
// at all means that the URI is not below the base or is refused.
func (b *base) parse(uri string) []reading {
	if strings.ContainsAny(uri, "?#\x00") {
		return nil
	}
	rest, ok := b.cut(uri)
	if !ok {
		return nil
	}
	if rest == "" {
		return []reading{{dirOnly: true}}
	}
	raw, dirOnly := strings.CutSuffix(rest, "/")
	var out []reading
	if rel, ok := decodePath(raw); ok {
		out = append(out, reading{rel, dirOnly})
	}
	if strings.IndexByte(raw, '%') >= 0 && plainPath(raw) && (len(out) == 0 || out[0].rel != raw) {
		out = append(out, reading{raw, dirOnly})
	}
	return out
}

// cut removes the base from uri, in whatever spelling the client gave it.
func (b *base) cut(uri string) (rest string, ok bool) {
	if rest, ok := strings.CutPrefix(uri, b.prefix); ok {
		return rest, true
	}
	rest = uri
	if b.scheme != "" {
		scheme, after, ok := strings.Cut(uri, "://")
		if !ok || !strings.EqualFold(scheme, b.scheme) {
			return "", false
		}
		rest = after
	}
	for i, want := range b.segments {
		seg, after, more := strings.Cut(rest, "/")
		if !b.sameSegment(i, seg, want) {
			return "", false
		}
		if !more {
			return "", i == len(b.segments)-1
		}
		rest = after
	}
	return rest, true
}

// sameSegment compares one segment of the base part. The first is the authority (RFC 3986, 3.2.2: without regard to case;
// RFC 8089, 2: "localhost" is the empty one).
func (b *base) sameSegment(i int, seg, want string) bool {
	switch {
	case seg == want || unescape(seg) == want || respells(seg, want):
		return true
	case i == 0 && b.scheme != "":
		return strings.EqualFold(unescape(seg), want) || b.scheme == "file" && want == "" && strings.EqualFold(seg, "localhost")
	}
	return foldsPaths && strings.EqualFold(unescape(seg), want)
}

// foldsPaths: drive letters are rewritten in lower case by some clients.
const foldsPaths = runtime.GOOS == "windows"

// decodePath decodes each segment. A slash or NUL that was encoded is refused.
func decodePath(raw string) (string, bool) {
	if strings.IndexByte(raw, '%') < 0 {
		return raw, plainPath(raw)
	}
	rel := unescape(raw)
	if strings.Count(rel, "/") != strings.Count(raw, "/") {
		return "", false
	}
	return rel, plainPath(rel)
}

// mostPath is how long a path can be, in bytes: Linux lists no directory with a path of more than 4,095 (PATH_MAX), in which a
// name has 255. Each segment of a path is judged with what is above it, so that a URI of a whole line, two million segments,
// would take hours.
const mostPath = 4096 + 256

// plainPath reports whether rel names something below a root and nothing else: no empty, "." or ".." segment, no NUL.
func plainPath(rel string) bool {
	if len(rel) > mostPath || strings.IndexByte(rel, 0) >= 0 || runtime.GOOS == "windows" && strings.ContainsAny(rel, `\:`) {
		return false
	}
	for seg := range strings.SplitSeq(rel, "/") {
		if seg == "" || seg == "." || seg == ".." {
			return false
		}
	}
	return true
}

const upperHex = "0123456789ABCDEF"

// literal[c] says that c stays as it is in a path: unreserved, sub-delims, ":" and "@" (RFC 3986, 3.3), and the slash
// between segments.
var literal = func() (t [256]bool) {
	for c := range t {
		t[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	for _, c := range []byte("-._~!$&'()*+,;=:@/") {
		t[c] = true
	}
	return t
}()

// escape encodes a path, and no byte more than RFC 3986 demands.
func escape(rel string) string {
	for i := 0; i < len(rel); i++ {
		if !literal[rel[i]] {
			return string(appendEscaped(make([]byte, 0, len(rel)+16), rel))
		}
	}
	return rel
}

func escapedLen(rel string) int {
	n := len(rel)
	for i := 0; i < len(rel); i++ {
		if !literal[rel[i]] {
			n += len("%XX") - 1
		}
	}
	return n
}

func appendEscaped(dst []byte, rel string) []byte {
	for i := 0; i < len(rel); i++ {
		if c := rel[i]; literal[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// unescape decodes every valid escape; a "%" that starts none is itself.
func unescape(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if ok1 && ok2 {
				out = append(out, hi<<4|lo)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
