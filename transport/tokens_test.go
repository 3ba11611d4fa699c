package transport

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseTokens(t *testing.T) {
	tokens, err := ParseTokens("\ufeff# who may ask\r\nalice s3cret-1  # laptop\r\n\n  s3cret-2\n\tci@host.example_1 s3cret-3==\n")
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]string{"s3cret-1": "alice", "s3cret-2": "token-4", "s3cret-3==": "ci@host.example_1", "alice": "", "": ""} {
		if client, ok := tokens.owner(secret); client != want || ok != (want != "") {
			t.Errorf("%q belongs to %q, %v, want %q", secret, client, ok, want)
		}
	}
	if shown := fmt.Sprintf("%+v %#v", tokens, tokens); strings.Contains(shown, "s3cret") {
		t.Errorf("a token is shown: %s", shown)
	}
}

func TestParseTokensNamesTheLineAndNeverTheToken(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "no token in it",
		"\n# s3cret\n  \n":             "no token in it",
		"a s3cret b":                   "line 1: has 3 words, want NAME TOKEN or TOKEN alone",
		"\n\na s3cret,":                "line 3: a token has letters, digits, - . _ ~ + / only, and = at its end",
		"s3cret=x":                     "line 1: a token has letters, digits, - . _ ~ + / only, and = at its end",
		"a ==":                         "line 1: a token has letters, digits, - . _ ~ + / only, and = at its end",
		"s3cr\u00E9t":                  "line 1: a token has letters, digits, - . _ ~ + / only, and = at its end",
		"s3cret: x":                    "line 1: a name has letters, digits, - . _ @ only",
		"a s3cret\n# again\nb s3cret":  "line 3: is the same token as that of line 1",
		"a s3cret\na s3cret":           "line 2: is the same token as that of line 1",
		"Authorization: Bearer s3cret": "line 1: has 3 words, want NAME TOKEN or TOKEN alone",
	} {
		_, err := ParseTokens(text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%q: the error shows the token: %v", text, err)
		}
	}
}
