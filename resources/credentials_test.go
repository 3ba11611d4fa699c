package resources

import (
	"slices"
	"strings"
	"testing"
)

// TestSecretsAreFoundByTheirFirstOrLastByte: what is not compared with a name cannot match it, and what matches is the
// first in the list.
func TestSecretsAreFoundByTheirFirstOrLastByte(t *testing.T) {
	bodies := []string{"", "x", ".", ".env", "id_rsa", ".pem", "\u212a"}
	for i := range secrets {
		for _, a := range bodies {
			for _, b := range bodies {
				for _, name := range []string{a + strings.ReplaceAll(secrets[i].text, "*", b), strings.ReplaceAll(secrets[i].text, "*", b) + a} {
					for _, name := range []string{name, strings.ToUpper(name)} {
						want := ""
						if k := slices.IndexFunc(secrets, func(s secret) bool { return s.matches(strings.ToLower(name)) }); k >= 0 {
							want = secrets[k].text
						}
						if got := secretName(name); got != want {
							t.Errorf("%q: %q, want %q", name, got, want)
						}
					}
				}
			}
		}
	}
}
