package transport

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// FuzzHeaderName: what a client encodes is decoded, what it need not encode is itself, and nothing else is taken.
func FuzzHeaderName(f *testing.F) {
	for _, seed := range []string{"", "a", "test://top/ünï", "=?base64?eA==?=", "=?base64?", "?=", "=?base64??=", "=?base64?=", " a", "a\x7f", "=?base64?eB==?=", "=?base64?eA=\n=?="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got, ok := decodeName(base64Name(value)); !ok || got != value {
			t.Errorf("%q comes back as %q, %v", value, got, ok)
		}
		got, ok := decodeName(value)
		inner, opened := strings.CutPrefix(value, "=?base64?")
		inner, closed := strings.CutSuffix(inner, "?=")
		if opened && closed {
			if ok && base64.StdEncoding.EncodeToString([]byte(got)) != inner {
				t.Errorf("%q is read as %q, which no client writes so", value, got)
			}
			return
		}
		plain := !strings.ContainsFunc(value, func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') })
		if ok != plain || ok && got != value {
			t.Errorf("%q is read as %q, %v", value, got, ok)
		}
	})
}

// FuzzAccept: whatever else is accepted, a type is if it is named last and alone, and is not if it is ruled out.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "*/*", "text/html;q=0.5, */*;q=0", "application/json;q=0", ",,;", "a/b;q", `x/y;z=",application/json"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		_ = accepts(&http.Request{Header: http.Header{"Accept": {value}}}, typeJSON)
		if strings.Contains(strings.ToLower(value), typeJSON) {
			return
		}
		for header, want := range map[string]bool{typeJSON: true, typeJSON + ";q=0": false, "Application/JSON; q=0.1": true} {
			if got := accepts(&http.Request{Header: http.Header{"Accept": {value, header}}}, typeJSON); got != want {
				t.Errorf("%q, %q: %v", value, header, got)
			}
		}
	})
}
