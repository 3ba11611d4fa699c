package resources

import "strings"

// globParser reads one spelling of a pattern, without braces.
type globParser struct {
	spelling
	i, start int // where it is, and where the segment began
	out      alternative
}

func (p *globParser) parse(literalFirst bool) *GlobError {
	switch {
	case p.text == "" || p.text == "/":
		return p.fail(0, "nothing is left to match")
	case strings.IndexByte(p.text, 0) >= 0:
		return p.fail(strings.IndexByte(p.text, 0), "no name holds a NUL")
	case p.text[0] == '!':
		return p.fail(0, `a pattern cannot be negated: use --exclude, or \! for a name that starts with "!"`)
	case strings.HasPrefix(p.text, "~/"):
		return p.fail(0, `patterns are matched below the served directory, and "~" is not expanded: write \~/ for a directory of that name`)
	case p.text[0] == '/':
		p.i, p.start = 1, 1
	}
	for p.i < len(p.text) {
		if err := p.step(); err != nil {
			return err
		}
	}
	if p.start < len(p.text) {
		if err := p.segment(); err != nil {
			return err
		}
	}
	return p.finish(literalFirst)
}

func (p *globParser) step() *GlobError {
	switch p.text[p.i] {
	case '\\':
		return p.escape()
	case '[':
		return p.class()
	case '/':
		if err := p.segment(); err != nil {
			return err
		}
		p.start = p.i + 1
	}
	p.i++
	return nil
}

func (p *globParser) escape() *GlobError {
	switch {
	case p.i+1 == len(p.text):
		return p.fail(p.i, "a backslash with nothing after it")
	case p.text[p.i+1] == '/':
		return p.fail(p.i, "a slash cannot be escaped: no name holds one")
	}
	p.i += 2
	return nil
}

func (p *globParser) class() *GlobError {
	t := translation{in: p.text, i: p.i + 1}
	set, ok := t.class()
	switch {
	case t.unknown != "":
		return p.fail(t.i-len("[:"+t.unknown+":]"), "there is no class of characters called "+t.unknown)
	case !ok:
		return p.fail(p.i, "a class of characters that is not closed")
	case set == byteSet{}:
		return p.fail(p.i, "a class of characters that matches nothing")
	}
	p.i = t.i
	return nil
}

// segment takes what was read since the last slash.
func (p *globParser) segment() *GlobError {
	text := p.text[p.start:p.i]
	if text == "" {
		return p.fail(p.start, "an empty segment: two slashes follow each other")
	}
	s := segment{deep: len(text) > 1 && strings.Trim(text, "*") == ""}
	if !p.compile(&s.rule, text) {
		return p.fail(p.start, "a segment that cannot be matched")
	}
	if s.pattern == nil && (s.literal == "." || s.literal == "..") {
		return p.fail(p.start, `patterns are matched below the served directory, without "." and ".."`)
	}
	p.out.segments = append(p.out.segments, s)
	return nil
}

// finish makes the alternative of the segments.
func (p *globParser) finish(literalFirst bool) *GlobError {
	text, dirOnly := strings.CutSuffix(p.text, "/")
	p.out.dirOnly, p.out.anchored = dirOnly, strings.Contains(text, "/")
	if literalFirst && p.out.segments[0].pattern != nil {
		return p.fail(p.firstWildcard(), "the first segment of --unhide must be a plain name, as in .github/**: "+
			"with * ? [ in it every hidden directory would have to be walked and watched")
	}
	text = strings.TrimPrefix(text, "/")
	if !p.compile(&p.out.rule, text) {
		return p.fail(0, "a pattern that cannot be matched")
	}
	return nil
}

// firstWildcard is where the text stops being literal.
func (p *globParser) firstWildcard() int {
	i := 0
	for ; strings.IndexByte("*?[", p.text[i]) < 0; i++ {
		if p.text[i] == '\\' {
			i++
		}
	}
	return i
}

func (p *globParser) compile(r *rule, text string) (ok bool) {
	if plain, literal := unescapeGlob(text); literal {
		r.literal = plain
		return true
	}
	r.pattern, ok = translate(text)
	return ok
}

// unescapeGlob removes the backslashes from a pattern that has nothing else of its kind.
func unescapeGlob(text string) (plain string, literal bool) {
	if !strings.ContainsAny(text, `*?[\`) {
		return text, true
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			i++
		}
		out = append(out, text[i])
	}
	return string(out), true
}

func (p *globParser) fail(i int, reason string) *GlobError {
	return &GlobError{At: p.place(i), Reason: reason}
}
