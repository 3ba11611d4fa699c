package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in       string
		id, method     string
		params         string
		code           int
		request, notes bool
	}{
		{name: "request", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, id: `1`, method: "m", params: `{"a":1}`, request: true},
		{name: "request without params", in: ` {"method":"m","id":"x","jsonrpc":"2.0"}` + "\r\n", id: `"x"`, method: "m", request: true},
		{name: "id 0", in: `{"jsonrpc":"2.0","id":0,"method":"m"}`, id: `0`, method: "m", request: true},
		{name: "negative id", in: `{"jsonrpc":"2.0","id":-7,"method":"m"}`, id: `-7`, method: "m", request: true},
		{name: "id above 2^53", in: `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, id: `9007199254740993`, method: "m", request: true},
		{name: "empty string id", in: `{"jsonrpc":"2.0","id":"","method":"m"}`, id: `""`, method: "m", request: true},
		{name: "escapes in the id", in: `{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`, id: `"\u0061\/"`, method: "m", request: true},
		{name: "notification", in: `{"jsonrpc":"2.0","method":"m"}`, method: "m", notes: true},
		{name: "result", in: `{"jsonrpc":"2.0","id":1,"result":{}}`, id: `1`},
		{name: "error", in: `{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}`},
		{name: "escapes in a name", in: `{"jsonrpc":"2.0","id":1,"m\u0065thod":"m"}`, id: `1`, method: "m", request: true},
		{name: "escapes in the version", in: `{"jsonrpc":"2\u002e\u0030","id":1,"method":"m"}`, id: `1`, method: "m", request: true},

		{name: "empty", in: ``, code: ParseError},
		{name: "not JSON", in: `{"jsonrpc":"2.0","id":1`, code: ParseError},
		{name: "two messages", in: `{} {}`, code: ParseError},
		{name: "not UTF-8", in: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", code: ParseError},
		{name: "nested too deep", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":` + nest(10_000) + `}`, code: ParseError},
		{name: "four megabytes of brackets", in: strings.Repeat("[", 4<<20), code: ParseError},
		{name: "four megabytes of objects", in: strings.Repeat(`{"a":`, 4<<18), code: ParseError},
		{name: "array", in: `[]`, code: InvalidRequest},
		{name: "string", in: `"x"`, code: InvalidRequest},
		{name: "null id", in: `{"jsonrpc":"2.0","id":null,"method":"m"}`, code: InvalidRequest},
		{name: "fraction id", in: `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, code: InvalidRequest},
		{name: "exponent id", in: `{"jsonrpc":"2.0","id":1e3,"method":"m"}`, code: InvalidRequest},
		{name: "boolean id", in: `{"jsonrpc":"2.0","id":true,"method":"m"}`, code: InvalidRequest},
		{name: "object id", in: `{"jsonrpc":"2.0","id":{},"method":"m"}`, code: InvalidRequest},
		{name: "two ids", in: `{"jsonrpc":"2.0","id":1,"id":2,"id":3,"method":"m"}`, code: InvalidRequest},
		{name: "two methods", in: `{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}`, id: `1`, code: InvalidRequest},
		{name: "other version", in: `{"jsonrpc":"1.0","id":1,"method":"m"}`, id: `1`, code: InvalidRequest},
		{name: "number as version", in: `{"jsonrpc":2.0,"id":1,"method":"m"}`, id: `1`, code: InvalidRequest},
		{name: "no version", in: `{"id":1,"method":"m"}`, id: `1`, code: InvalidRequest},
		{name: "no method", in: `{"jsonrpc":"2.0","id":1}`, id: `1`, code: InvalidRequest},
		{name: "empty method", in: `{"jsonrpc":"2.0","id":1,"method":""}`, id: `1`, code: InvalidRequest},
		{name: "method in capitals", in: `{"jsonrpc":"2.0","id":1,"METHOD":"m"}`, id: `1`, code: InvalidRequest},
		{name: "number as method", in: `{"jsonrpc":"2.0","id":1,"method":5}`, id: `1`, code: InvalidRequest},
		{name: "array params", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, id: `1`, method: "m", code: InvalidParams},
		{name: "null params", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, id: `1`, method: "m", code: InvalidParams},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse([]byte(c.in))
			code := 0
			if err != nil {
				code = err.Code
			}
			if code != c.code {
				t.Fatalf("error is %v, want code %d", err, c.code)
			}
			if string(m.ID.Raw()) != c.id || m.Method != c.method || string(m.Params) != c.params {
				t.Errorf("message is id %s, method %q, params %s", m.ID.Raw(), m.Method, m.Params)
			}
			if err == nil && (m.IsRequest() != c.request || m.IsNotification() != c.notes) {
				t.Errorf("request %v, notification %v", m.IsRequest(), m.IsNotification())
			}
		})
	}
}

func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestNestingAsDeepAsEncodingJSON(t *testing.T) {
	for _, depth := range []int{9_999, 10_000, 10_001, 1_000_000} {
		text := []byte(nest(depth))
		if got, want := scanValue(text, 0, 0) >= 0, json.Valid(text); got != want {
			t.Errorf("depth %d: valid is %v, want %v", depth, got, want)
		}
	}
}

func TestParseIDLength(t *testing.T) {
	for _, c := range []struct {
		raw string
		ok  bool
	}{
		{`"` + strings.Repeat("a", MaxIDBytes-2) + `"`, true},
		{`"` + strings.Repeat("a", MaxIDBytes-1) + `"`, false},
		{strings.Repeat("1", MaxIDBytes), true},
		{strings.Repeat("1", MaxIDBytes+1), false},
	} {
		if _, ok := ParseID([]byte(c.raw)); ok != c.ok {
			t.Errorf("an id of %d bytes is accepted: %v", len(c.raw), ok)
		}
	}
}

func TestIDKeys(t *testing.T) {
	key := func(raw string) string {
		id, ok := ParseID([]byte(raw))
		if !ok {
			t.Fatalf("%s is refused", raw)
		}
		return id.Key()
	}
	for _, same := range [][]string{
		{`"a"`, `"\u0061"`}, {`"1"`, `"\u0031"`}, {`"é"`, `"\u00e9"`, `"\u00E9"`}, {`"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`},
		{`"\"\\/"`, `"\u0022\u005c\/"`}, {`"\b\f\n\r\t"`, `"\u0008\u000c\u000a\u000d\u0009"`}, {`"\ud800x"`, `"\uD800\u0078"`},
	} {
		for _, raw := range same {
			if key(raw) != key(same[0]) {
				t.Errorf("%s and %s, two spellings of one string, are two requests", raw, same[0])
			}
		}
	}
	seen := map[string]string{}
	for _, raw := range []string{
		`1`, `-1`, `"1"`, `""`, `"\""`, `"a"`, `9007199254740992`, `9007199254740993`, `"\ufffd"`,
		`"\ud800"`, `"\ud801"`, `"\udc00"`, `"\ude00\ud83d"`, `"\ud83d\ude00"`, `"\ud83d \ude00"`, `"\ud83d\ud83d\ude00"`, `"\\ud800"`,
	} {
		if other, taken := seen[key(raw)]; taken {
			t.Errorf("%s and %s are one request", other, raw)
		}
		seen[key(raw)] = raw
	}
}

func TestBatch(t *testing.T) {
	all, err := Batch([]byte(` [{"a":1}, 2] `))
	if err != nil || len(all) != 2 || string(all[0]) != `{"a":1}` || string(all[1]) != `2` {
		t.Errorf("batch is %s, %v", all, err)
	}
	for in, code := range map[string]int{`[]`: InvalidRequest, `[1`: ParseError, "[\"\xff\"]": ParseError} {
		if _, err := Batch([]byte(in)); err == nil || err.Code != code {
			t.Errorf("Batch(%q): %v, want code %d", in, err, code)
		}
	}
	for n, ok := range map[int]bool{MaxBatch: true, MaxBatch + 1: false, 1 << 20: false} {
		switch all, err := Batch([]byte("[" + strings.Repeat("0,", n-1) + "0]")); {
		case (err == nil) != ok || ok && len(all) != n:
			t.Errorf("a batch of %d: %d members, %v", n, len(all), err)
		case err != nil && (err.Code != InvalidRequest || !strings.Contains(err.Message, "100")):
			t.Errorf("a batch of %d: %v does not name the limit", n, err)
		}
	}
	if _, err := Batch([]byte(`[]`)); err == nil || !strings.HasPrefix(err.Message, "invalid request: ") {
		t.Errorf("an empty batch: %v", err)
	}
	if !IsBatch([]byte(" \r\n\t[")) || IsBatch([]byte(`{"a":[]}`)) || IsBatch(nil) {
		t.Error("IsBatch is wrong")
	}
}

func TestErrorsRepeatLittleOfWhatWasSent(t *testing.T) {
	for _, char := range []string{"x", "é", `\u0001`, "\U000e0001"} {
		name := `"` + strings.Repeat(char, 100_000) + `":1`
		_, err := Parse([]byte(`{"id":1,` + name + `,` + name + `}`))
		if text, _ := json.Marshal(err); err == nil || err.Code != InvalidRequest || len(text) > 2000 {
			t.Errorf("an error of %d bytes", len(text))
		}
	}
}

func TestClipCutsBetweenRunes(t *testing.T) {
	for _, pad := range []string{"", "x", "xx", "xxx"} {
		long := pad + strings.Repeat("𝄞", 100)
		if got := Clip(long); len(got) > 140 || !utf8.ValidString(got) || !strings.HasPrefix(long, strings.TrimSuffix(got, "…")) {
			t.Errorf("got %q", got)
		}
	}
	if got := Clip(strings.Repeat("\x80", 200)); len(got) > 140 { // bytes without a rune to cut before
		t.Errorf("got %q", got)
	}
	if Clip("short") != "short" {
		t.Error("a short string is changed")
	}
}

func TestMembersDoesNotLetValuesGrowIntoEachOther(t *testing.T) {
	raw := []byte(`{"a":1,"b":2}`)
	m, err := Members(raw)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(m["a"], "999"...)
	if string(m["b"]) != "2" {
		t.Errorf("b is %s", m["b"])
	}
}

// TestSimpleTextIsTold: a byte that is not simple is found at every place of a text of any length, and no other is.
func TestSimpleTextIsTold(t *testing.T) {
	for n := range 40 {
		text := []byte(strings.Repeat("\x7f ~!#[]", 7)[n%7:][:n])
		if !isSimple(string(text)) {
			t.Errorf("%q is not simple", text)
		}
		for at := range text {
			was := text[at]
			for c := range 256 {
				text[at] = byte(c)
				if want := c >= ' ' && c < 0x80 && c != '"' && c != '\\'; isSimple(string(text)) != want {
					t.Fatalf("%q: %v", text, !want)
				}
			}
			text[at] = was
		}
	}
}

func TestErrorIsItsWireForm(t *testing.T) {
	err := Errorf(InvalidParams, "invalid %s", "cursor")
	got, _ := json.Marshal(err)
	if want := `{"code":-32602,"message":"invalid cursor"}`; string(got) != want {
		t.Errorf("error is %s, want %s", got, want)
	}
	if err.Error() != "invalid cursor (-32602)" {
		t.Errorf("text is %q", err.Error())
	}
}

const typical = `{"jsonrpc":"2.0","id":12,"method":"resources/read","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` +
	`"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"ExampleClient","version":"1.0.0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}},"uri":"file:///srv/project/docs/readme.md"}}`

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse([]byte(typical)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Members([]byte(typical)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeMembers is what Members replaces.
func BenchmarkDecodeMembers(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := decodeMembers([]byte(typical)); !ok {
			b.Fatal("refused")
		}
	}
}

func BenchmarkAppendString(b *testing.B) {
	const uri = "file:///srv/project/docs/readme.md"
	b.SetBytes(int64(len(uri)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = AppendString(dst[:0], uri)
	}
}

func BenchmarkAppendEscaped(b *testing.B) {
	for name, text := range map[string]string{"lines": "A line of text, as they are, of some forty bytes.\n", "control characters": "\x01"} {
		b.Run(name, func(b *testing.B) {
			text := bytes.Repeat([]byte(text), (1<<20)/len(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			dst := make([]byte, 0, EscapedLen(text))
			for b.Loop() {
				dst = AppendEscaped(dst[:0], text)
			}
		})
	}
}

func BenchmarkEscapedLen(b *testing.B) {
	text := bytes.Repeat([]byte("A line of text, as they are, of some forty bytes.\n"), 20000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		EscapedLen(text)
	}
}

func TestTextIsWhatEncodingJSONMakesOfIt(t *testing.T) {
	for _, raw := range []string{`""`, `"a"`, `"é"`, `"a\nb"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\\"`, `1`, `null`, `{}`, `["a"]`} {
		var want any
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatal(err)
		}
		s, isText := want.(string)
		if got, ok := Text([]byte(raw)); ok != isText || got != s {
			t.Errorf("%s is %q, %t, want %q, %t", raw, got, ok, s, isText)
		}
	}
}
