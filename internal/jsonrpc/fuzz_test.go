package jsonrpc

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

var seeds = []string{
	``, ` `, `{}`, `[]`, `null`, `"\ud800"`, `{"a":1}`, `{"a":1,}`, `{"a" : [1, {"b":"}"}] , "c":{}}`, `{"a":1}{`, `{"a"}`, `{"a":}`,
	`{"":""}`, `{"\ud800":1,"\ud801":2}`, `{"\ud83d\ude00":1,"😀":2}`, `"\udc00\ud800\udc00\""`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `{"id":1,"id":2,"method":"x","jsonrpc":"2.0"}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"1","method":"ping","params":{}}`,
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
	`{"jsonrpc":"2.0","method":"n","params":[]}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"ID":1,"jsonrpc":"2.0","method":"x"}`,
	`0`, `-0`, `-`, `01`, `1.0`, `1e3`, `1E+3`, `.5`, `1.`, `-1`, `"a`, `"\x"`, `"\u12"`, `"\u00e9"`, "\"\t\"", "\"\xff\"", "{\"\xff\":1}",
	`[[[]]]`, `[1,]`, `[,1]`, `{"a":tru}`, `{"a":true,"b":false,"c":null}`, "\ufeff{}", "{\"a\":\"\x7f\"}", ` "1"`, `"1" `,
}

func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		isText := json.Valid(data) && utf8.Valid(data)
		if syntax := err != nil && err.Code == ParseError; syntax == isText {
			t.Fatalf("valid JSON text: %v, but the error is %v", isText, err)
		}
		if err != nil {
			return
		}
		var fields map[string]json.RawMessage
		if e := json.Unmarshal(data, &fields); e != nil {
			t.Fatalf("accepted, but encoding/json says %v", e)
		}
		if got, want := m.ID.Raw(), fields["id"]; !bytes.Equal(got, want) {
			t.Fatalf("id is %s, want %s byte for byte", got, want)
		}
		if got, want := m.Params, fields["params"]; !bytes.Equal(got, want) {
			t.Fatalf("params are %s, want %s", got, want)
		}
		var method string
		if raw, ok := fields["method"]; ok {
			if e := json.Unmarshal(raw, &method); e != nil {
				t.Fatalf("method: %v", e)
			}
		}
		if m.Method != method {
			t.Fatalf("method is %q, want %q", m.Method, method)
		}
	})
}

func FuzzParseID(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, ok := ParseID(raw)
		if want := isID(raw); ok != want {
			t.Fatalf("ParseID(%q) is %v, want %v", raw, ok, want)
		}
		if !ok {
			if !id.IsZero() || id.Raw() != nil || id.Key() != "" {
				t.Fatalf("a refused id is %+v", id)
			}
			return
		}
		if !bytes.Equal(id.Raw(), raw) {
			t.Fatalf("id is %s, want %s byte for byte", id.Raw(), raw)
		}
		if again, ok := ParseID(id.Raw()); !ok || again != id {
			t.Fatalf("reading %s again gives %+v", raw, again)
		}
		if isString := raw[0] == '"'; isString != strings.HasPrefix(id.Key(), `"`) {
			t.Fatalf("key of %s is %s", raw, id.Key())
		}
	})
}

// isID is the rule in terms of encoding/json.
func isID(raw []byte) bool {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if !utf8.Valid(raw) || !json.Valid(raw) || d.Decode(&v) != nil || len(raw) > MaxIDBytes {
		return false
	}
	switch v := v.(type) {
	case string:
		return raw[0] == '"' && raw[len(raw)-1] == '"'
	case json.Number:
		return v.String() == string(raw) && !strings.ContainsAny(string(raw), ".eE")
	}
	return false
}

func FuzzMembers(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Members(raw)
		want, ok := decodeMembers(raw)
		if (err == nil) != ok {
			t.Fatalf("Members(%q) fails with %v, decoding it succeeds: %v", raw, err, ok)
		}
		if len(got) != len(want) {
			t.Fatalf("Members(%q) = %q, want %q", raw, got, want)
		}
		for name, value := range want {
			if !bytes.Equal(got[name], value) {
				t.Fatalf("member %q is %q, want %q", name, got[name], value)
			}
		}
	})
}

// FuzzUnquote compares two strings by their UTF-16, which says whether they are the same one.
func FuzzUnquote(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed), []byte(`"\ufffd"`))
	}
	f.Add([]byte(`"\ud83d\ude00"`), []byte(`"😀"`))
	f.Add([]byte(`"\ud800"`), []byte(`"\ud801"`))
	f.Add([]byte(`"\udc00\ud800\udc00\/\""`), []byte(`"\udC00𐀀/\u0022"`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, raw := range [][]byte{a, b} {
			if len(raw) == 0 || raw[0] != '"' || scanString(raw, 0) != len(raw) || !utf8.Valid(raw) {
				return
			}
			var want string
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if got := unquote(raw); !strings.Contains(want, "\ufffd") && got != want {
				t.Fatalf("%s is %q, encoding/json makes it %q", raw, got, want)
			}
			units := codeUnits(raw)
			if got, want := IsText(raw), slices.Equal(utf16.Encode(utf16.Decode(units)), units); got != want {
				t.Fatalf("%s is text: %v, want %v", raw, got, want)
			}
		}
		if got, want := unquote(a) == unquote(b), slices.Equal(codeUnits(a), codeUnits(b)); got != want {
			t.Fatalf("%s and %s are the same: %v, want %v", a, b, got, want)
		}
	})
}

// codeUnits is the UTF-16 of a JSON string.
func codeUnits(quoted []byte) (all []uint16) {
	escape := regexp.MustCompile(`\\u....|\\.|[^\\]+`)
	for _, part := range escape.FindAll(quoted[1:len(quoted)-1], -1) {
		if unit, ok := bytes.CutPrefix(part, []byte(`\u`)); ok {
			n, err := strconv.ParseUint(string(unit), 16, 16)
			if err != nil {
				panic(err)
			}
			all = append(all, uint16(n))
			continue
		}
		var s string
		if err := json.Unmarshal(slices.Concat([]byte{'"'}, part, []byte{'"'}), &s); err != nil {
			panic(err)
		}
		all = append(all, utf16.Encode([]rune(s))...)
	}
	return all
}

// decodeMembers is Members by means of encoding/json, but for the equality of names.
func decodeMembers(raw []byte) (map[string]json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') || !json.Valid(raw) {
		return nil, false
	}
	m := map[string]json.RawMessage{}
	for d.More() {
		before := d.InputOffset()
		if _, err := d.Token(); err != nil {
			return nil, false
		}
		name := unquote(bytes.TrimLeft(raw[before:d.InputOffset()], ", \t\r\n"))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		if _, twice := m[name]; twice {
			return nil, false
		}
		m[name] = value
	}
	return m, true
}

func FuzzBatch(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	for _, n := range []int{1, MaxBatch, MaxBatch + 1} {
		f.Add([]byte(" [ " + strings.Repeat(`{"a":[1]} , `, n-1) + "2 ] "))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Batch(data)
		var want []json.RawMessage
		code := 0
		switch {
		case !utf8.Valid(data) || !IsBatch(data):
			code = ParseError
		case json.Unmarshal(data, &want) != nil:
			code = ParseError
		case len(want) == 0 || len(want) > MaxBatch:
			code = InvalidRequest
		}
		if err != nil {
			// What follows the members that are allowed is not looked at.
			if err.Code != code && !strings.Contains(err.Message, "more than") {
				t.Fatalf("%q: %v, want code %d", data, err, code)
			}
			return
		}
		if code != 0 || len(got) != len(want) {
			t.Fatalf("%q: accepted with %d members, want code %d and %d", data, len(got), code, len(want))
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("member %d is %q, want %q", i, got[i], want[i])
			}
		}
	})
}

func FuzzAppendEscaped(f *testing.F) {
	f.Add("plain", uint8(3), uint8(0), uint16(0))
	f.Add("a\"b\\c\nd\te\rf\x00g\x1fh\x7fi\u2028jé\U0001F600", uint8(0), uint8(7), uint16(100))
	f.Add("\xff\xfe, \xed\xa0\x80 and \"", uint8(6), uint8(1), uint16(9))
	f.Add("\n\t\t\"!#\\]\x1f \x80\xa2\xdc", uint8(15), uint8(16), uint16(31))
	f.Fuzz(func(t *testing.T, s string, pad, block uint8, room uint16) {
		s = strings.Repeat("x", int(pad)) + s // an escape at every place of a word
		got := AppendString(nil, s)
		text := []byte(strings.ToValidUTF8(s, "?"))
		escaped := AppendEscaped(make([]byte, 0, room), text)
		inBlocks := make([]byte, 0, room)
		for part := range slices.Chunk(text, int(block)+1) {
			inBlocks = AppendEscaped(inBlocks, part)
		}
		if !bytes.Equal(escaped, inBlocks) {
			t.Fatalf("%q, but in blocks %q", escaped, inBlocks)
		}
		if utf8.ValidString(s) && string(got) != `"`+string(escaped)+`"` {
			t.Fatalf("%q and %q", escaped, got)
		}
		if n := EscapedLen(text); n != len(escaped) {
			t.Fatalf("%q has %d bytes, not %d", escaped, len(escaped), n)
		}
		var want, back string
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(encoded, &want) != nil || json.Unmarshal(got, &back) != nil || back != want {
			t.Fatalf("%q reads as %q, encoding/json makes it %q", s, back, want)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Add("file:///a(b)'!*<&>\u2028\x00\x1f\x7f\r\n\t\\\"é\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendString([]byte("x"), s)
		if got[0] != 'x' {
			t.Fatalf("what was there is now %q", got[0])
		}
		var back string
		if err := json.Unmarshal(got[1:], &back); err != nil {
			t.Fatalf("%s: %v", got[1:], err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back != want {
			t.Fatalf("%s reads as %q, want %q", got[1:], back, want)
		}
		var viaJSON string
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &viaJSON); err != nil {
			t.Fatal(err)
		}
		if back != viaJSON {
			t.Fatalf("%q reads as %q, encoding/json makes it %q", s, back, viaJSON)
		}
		if !utf8.Valid(got) || bytes.ContainsAny(got, "\r\n") {
			t.Fatalf("%q does not fit on a line of UTF-8", got)
		}
	})
}
