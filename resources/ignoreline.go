package resources

import "strings"

// parseIgnore reads an ignore file as git does: a byte order mark, CRLF and trailing spaces are not part of a line, a
// backslash keeps what follows it. A line that can never match gives no rule; a bad one never fails the file.
func parseIgnore(file, text string) []rule {
	if text == "" {
		return nil
	}
	unreadable := text == hideAll
	var rules []rule
	text = strings.TrimPrefix(text, "\ufeff")
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		if r, ok := parseLine(line); ok {
			if r.file, r.line, r.text = file, n, line; unreadable {
				r.text = "" // nobody wrote it
			}
			rules = append(rules, r)
		}
	}
	return rules
}

func parseLine(line string) (rule, bool) {
	var r rule
	line, _, _ = strings.Cut(line, "\x00") // git's lines are C strings
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimSpaces(line)
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	if !strings.ContainsAny(line, `*?[\`) {
		r.literal = line
		return r, true
	}
	var ok bool
	r.pattern, ok = translate(line)
	return r, ok
}

// trimSpaces removes trailing spaces, but for those that a backslash keeps.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			if i++; i == len(s) {
				return s
			}
			end = i + 1
		} else if s[i] != ' ' {
			end = i + 1
		}
	}
	return s[:end]
}
