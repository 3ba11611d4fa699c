package main

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// valueError says what is wrong with the value of a flag. It names both, since what the library says around it is
// dropped.
type valueError struct{ text, hint string }

func (e *valueError) Error() string { return e.text }

func badValue(hint, format string, args ...any) error {
	return &valueError{fmt.Sprintf(format, args...), hint}
}

// leftEmpty is the hint for an empty text, which nobody writes.
const leftEmpty = "a variable that the host or the shell left empty, perhaps"

// globs is a flag that takes one glob each time it is given. Commas belong to the glob.
type globs struct {
	flag  string // with its dashes, as in all values
	value *[]*resources.Glob
	parse func(string) (*resources.Glob, error)
}

func (g *globs) String() string { return "" } // the default is none
func (g *globs) Type() string   { return "GLOB" }
func (g *globs) Set(text string) error {
	if looksLikeFlag(text) {
		return badValue("a glob that begins like one is written "+quoteArg(`\`+text), "%s has no glob: %s looks like a flag", g.flag, text)
	}
	glob, err := g.parse(text)
	if wrong := (*resources.GlobError)(nil); errors.As(err, &wrong) {
		if text == "" {
			return badValue(leftEmpty, "%s is an empty text", g.flag)
		}
		at := utf8.RuneCountInString(text[:min(wrong.At, len(text))]) + 1
		return badValue(g.without(text), "%s %s, at character %d: %s", g.flag, quoteArg(text), at, wrong.Reason)
	}
	if err != nil {
		return badValue("", "%s %s: %v", g.flag, quoteArg(text), err)
	}
	*g.value = append(*g.value, glob)
	return nil
}

// without is the hint on a glob that is right but for what only a path may have, as ./ and //.
func (g *globs) without(text string) string {
	clean := path.Clean(text)
	if strings.HasPrefix(text, "./") || !strings.Contains(clean, "/") {
		clean = "/" + clean // it is no less a path than before
	}
	clean = slashAs(clean, text)
	if _, err := g.parse(clean); err != nil || !strings.Contains(text, "/") {
		return ""
	}
	return "write " + g.flag + " " + quoteArg(clean)
}

// looksLikeFlag reports whether a flag was given where the value of another one is missing.
func looksLikeFlag(text string) bool {
	return strings.HasPrefix(text, "--") || len(text) == 2 && text[0] == '-'
}

// shellLine is a flag that takes what a shell is to run.
type shellLine struct {
	flag  string
	value *string
}

func (l *shellLine) String() string { return *l.value }
func (l *shellLine) Type() string   { return "CMD" }
func (l *shellLine) Set(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return badValue(leftEmpty, "%s is an empty text", l.flag)
	case looksLikeFlag(text):
		return badValue("", "%s has no command: %s looks like a flag", l.flag, text)
	}
	*l.value = text
	return nil
}

// size is a flag that takes a number of bytes.
type size struct {
	flag  string
	value *int64
}

// units are the suffixes of sizes, from the largest.
var units = []struct {
	letter string
	bytes  int64
}{{"G", 1 << 30}, {"M", 1 << 20}, {"k", 1 << 10}}

func (s *size) String() string {
	for _, u := range units {
		if *s.value != 0 && *s.value%u.bytes == 0 {
			return strconv.FormatInt(*s.value/u.bytes, 10) + u.letter
		}
	}
	return strconv.FormatInt(*s.value, 10)
}

func (s *size) Type() string { return "SIZE" }
func (s *size) Set(text string) error {
	digits, unit := text, int64(1)
	for _, u := range units {
		if n := len(text) - 1; n >= 0 && strings.EqualFold(text[n:], u.letter) {
			digits, unit = text[:n], u.bytes
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > uint64(math.MaxInt64/unit) {
		return badValue("", "%s %s is larger than any file", s.flag, text)
	}
	if err != nil || n == 0 {
		return badValue("", "%s must be a number of bytes above 0, which k, M or G may follow, as in 64M, not %q", s.flag, text)
	}
	*s.value = int64(n) * unit
	return nil
}

// wholeNumber is a flag that takes a whole number from 1 to most.
type wholeNumber struct {
	flag  string
	value *int
	most  int
}

func (n *wholeNumber) String() string { return strconv.Itoa(*n.value) }
func (n *wholeNumber) Type() string   { return "N" }
func (n *wholeNumber) Set(text string) error {
	v, err := strconv.ParseUint(text, 10, 31)
	if err != nil || v < 1 || v > uint64(n.most) {
		return badValue("", "%s must be a whole number from 1 to %d, not %q", n.flag, n.most, text)
	}
	*n.value = int(v)
	return nil
}

// duration is a flag that takes a time of at least so much.
type duration struct {
	flag  string
	value *time.Duration
	least time.Duration
}

// String leaves out units of which there are none, as in 30m0s.
func (d *duration) String() string {
	text := d.value.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func (d *duration) Type() string { return "TIME" }
func (d *duration) Set(text string) error {
	v, err := time.ParseDuration(text)
	switch {
	case err != nil:
		hint := ""
		if _, err := strconv.ParseUint(text, 10, 31); err == nil {
			hint = "for seconds write " + text + "s"
		}
		return badValue(hint, "%s must be a time with its unit, as in 500ms, 30s or 5m, not %q", d.flag, text)
	case v < 0:
		return badValue("", "%s must not be negative, not %q", d.flag, text)
	case v%time.Millisecond != 0:
		return badValue("", "%s must be whole milliseconds, not %q", d.flag, text)
	}
	if v < d.least {
		return badValue("", "%s must be %v or more, not %s", d.flag, d.least, text)
	}
	*d.value = v
	return nil
}

// baseURI is a flag that takes what URIs begin with.
type baseURI struct {
	flag  string
	value *string
}

func (p *baseURI) String() string { return *p.value }
func (p *baseURI) Type() string   { return "PREFIX" }
func (p *baseURI) Set(text string) error {
	if text == "" {
		return badValue(leftEmpty, "%s is an empty text", p.flag)
	}
	if err := resources.CheckBase(text); err != nil {
		hint := "it is a scheme and what all URIs share, as in https://docs.example.com/"
		if resources.CheckBase(text+"/") == nil {
			hint = "write " + quoteArg(text+"/")
		}
		why := strings.TrimPrefix(err.Error(), resources.ErrBadBase.Error()+": ")
		return badValue(hint, "%s %s: %s", p.flag, quoteArg(text), why)
	}
	*p.value = text
	return nil
}

// choice is a flag that takes one of a few words.
type choice struct {
	flag  string
	value *string
	words []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }
func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		last := len(c.words) - 1
		return badValue("", "%s must be %s or %s, not %q", c.flag, strings.Join(c.words[:last], ", "), c.words[last], word)
	}
	*c.value = word
	return nil
}
