package wire

import (
	"strings"
	"testing"
)

// TestWhatIsWrongWithATargetRepeatsNoPassword, though the URL is not understood just because of it, or has no scheme.
func TestWhatIsWrongWithATargetRepeatsNoPassword(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://me:s3cret@localhost/mcp":       "begins with http://",
		"me:s3cret@localhost/mcp":             "begins with http://",
		"http:/me:s3cret@localhost/mcp":       "begins with http://",
		"http:///me:s3cret@localhost/mcp":     "begins with http://",
		"me:s3?cret@localhost/mcp":            "begins with http://",
		"ftp://s3cret@localhost/mcp":          "begins with http://",
		"localhost:8080/mcp":                  `not "localhost:8080/mcp"`,
		"http://me:s3cret@[::1/mcp":           "makes no sense",
		"http://me:s3cret/word@localhost/mcp": "makes no sense",
		"http://me:%s3cret@localhost/mcp":     "makes no sense",
		"http://localhost:s8080/mcp":          `makes no sense: invalid port ":s8080"`,
	} {
		err := (&Target{URL: url}).Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", url, err, want)
		} else if strings.Contains(err.Error(), "s3") {
			t.Errorf("the error says what is secret: %v", err)
		}
	}
}
