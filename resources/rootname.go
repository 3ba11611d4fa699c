package resources

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Names gives each directory the name that OpenRoots does. Those that were chosen win over those that are derived. The error
// is a *RootError that wraps ErrBadName or ErrNameTaken.
func Names(specs []Spec) ([]string, error) {
	names := make([]string, len(specs))
	taken := make(map[string]string) // the directory, by name
	for i, s := range specs {
		if s.Name == "" {
			continue
		}
		if !isName(s.Name) {
			return nil, &RootError{Dir: s.Dir, Err: ErrBadName}
		}
		if other, ok := taken[s.Name]; ok {
			return nil, &RootError{Dir: s.Dir, Other: other, Err: ErrNameTaken}
		}
		names[i], taken[s.Name] = s.Name, s.Dir
	}
	for i, s := range specs {
		if s.Name != "" {
			continue
		}
		abs, err := absolute(s.Dir)
		if err != nil {
			return nil, &RootError{Dir: s.Dir, Err: err}
		}
		name := deriveName(abs)
		for n := 2; ; n++ {
			if _, ok := taken[name]; !ok {
				break
			}
			name = deriveName(abs) + "-" + strconv.Itoa(n)
		}
		names[i], taken[name] = name, s.Dir
	}
	return names, nil
}

// isName: a name is the authority of a URI, where case does not count (RFC 3986, 3.2.2), and so it has only one.
func isName(s string) bool {
	for i := range len(s) {
		if !nameByte(s[i], i == 0) {
			return false
		}
	}
	return s != ""
}

func nameByte(c byte, first bool) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || !first && (c == '.' || c == '-')
}

// deriveName makes a name of the last segment of a path.
func deriveName(abs string) string {
	name := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		if r > '~' || !nameByte(byte(r), false) {
			return '-'
		}
		return r
	}, filepath.Base(abs))
	if name = strings.TrimLeft(name, "-."); name == "" {
		return "root"
	}
	return name
}
