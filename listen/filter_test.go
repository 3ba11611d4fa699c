package listen_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

func TestParseFilter(t *testing.T) {
	for _, c := range []struct {
		in   string
		want listen.Filter
		err  string
	}{
		{in: `{}`},
		{in: ` { } `},
		{in: `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a","b"]}`,
			want: listen.Filter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "b"}}},
		{in: `{"toolsListChanged":false,"resourceSubscriptions":[]}`, want: uris([]string{}...)},
		{in: `{"resourceSubscriptions":["a","\u0061","b","a"]}`, want: uris("a", "b")},
		{in: `{"later":{"x": [1]},"taskIds":null,"ToolsListChanged":5}`, want: listen.Filter{Extensions: map[string]json.RawMessage{
			"later": json.RawMessage(`{"x": [1]}`), "taskIds": json.RawMessage(`null`), "ToolsListChanged": json.RawMessage(`5`),
		}}},
		{in: `{"\ud800":1}`},
		{in: `{"resourceSubscriptions":["a\ud800","a\udc00","a\ud83d\ude00","a\ufffd","b"]}`, want: uris("a\U0001f600", "a\ufffd", "b")},

		{in: ``, err: "notifications is missing"},
		{in: "{\"\x80\":[]}", err: "notifications is not valid UTF-8"},
		{in: "{\"resourceSubscriptions\":[\"\xff\"]}", err: "notifications is not valid UTF-8"},
		{in: `null`, err: "notifications must be an object"},
		{in: `[]`, err: "notifications must be an object"},
		{in: `"all"`, err: "notifications must be an object"},
		{in: `{"toolsListChanged":true,"toolsListChanged":false}`, err: `notifications: "toolsListChanged" occurs twice`},
		{in: `{`, err: "notifications: not valid JSON"},
		{in: `{"toolsListChanged":1}`, err: "notifications.toolsListChanged must be a boolean"},
		{in: `{"promptsListChanged":"true"}`, err: "notifications.promptsListChanged must be a boolean"},
		{in: `{"resourcesListChanged":null}`, err: "notifications.resourcesListChanged must be a boolean"},
		{in: `{"resourceSubscriptions":"a"}`, err: "notifications.resourceSubscriptions must be an array of strings"},
		{in: `{"resourceSubscriptions":null}`, err: "notifications.resourceSubscriptions must be an array of strings"},
		{in: `{"resourceSubscriptions":{"a":true}}`, err: "notifications.resourceSubscriptions must be an array of strings"},
		{in: `{"resourceSubscriptions":["a",1]}`, err: "notifications.resourceSubscriptions[1] must be a string"},
		{in: `{"resourceSubscriptions":[null]}`, err: "notifications.resourceSubscriptions[0] must be a string"},
	} {
		got, err := listen.ParseFilter(json.RawMessage(c.in))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.err {
			t.Errorf("ParseFilter(%s): error %q, want %q", c.in, text, c.err)
			continue
		}
		if len(got.ResourceSubscriptions) == 0 && len(c.want.ResourceSubscriptions) == 0 {
			got.ResourceSubscriptions, c.want.ResourceSubscriptions = nil, nil
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("ParseFilter(%s) = %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestFilterIsEmpty(t *testing.T) {
	for _, c := range []struct {
		f    listen.Filter
		want bool
	}{
		{listen.Filter{}, true},
		{listen.Filter{ResourceSubscriptions: []string{}}, true},
		{listen.Filter{ToolsListChanged: true}, false},
		{listen.Filter{PromptsListChanged: true}, false},
		{listen.Filter{ResourcesListChanged: true}, false},
		{uris("a"), false},
	} {
		if got := c.f.IsEmpty(); got != c.want {
			t.Errorf("IsEmpty of %+v is %v", c.f, got)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	f.Add([]byte(`{"toolsListChanged":true,"resourceSubscriptions":["a","a"]}`))
	f.Add([]byte(`{"resourceSubscriptions":[null]}`))
	f.Add([]byte(`{"x":1}`))
	f.Add([]byte("{\"\x80\":[]}"))
	f.Add([]byte(`{"\ud800":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := listen.ParseFilter(raw)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		again, err := listen.ParseFilter(encoded)
		if err != nil {
			t.Fatalf("%s, read from %s, is refused: %v", encoded, raw, err)
		}
		if len(again.ResourceSubscriptions) == 0 && len(got.ResourceSubscriptions) == 0 {
			again.ResourceSubscriptions = got.ResourceSubscriptions
		}
		if !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v becomes %+v", got, again)
		}
	})
}

func TestFilterInJSON(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["<a>","b"],"a/ext":{"x":[1]},"b/ext":null}`,
	} {
		var f listen.Filter
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(struct{ F listen.Filter }{f})
		want := strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(`{"F":` + text + `}`)
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v", text, got, err)
		}
	}
	kept := uris("a")
	if err := json.Unmarshal([]byte(`null`), &kept); err != nil || len(kept.ResourceSubscriptions) != 1 {
		t.Errorf("null makes it %+v, %v", kept, err)
	}
	if err := json.Unmarshal([]byte(`{"toolsListChanged":1}`), &kept); err == nil || len(kept.ResourceSubscriptions) != 1 {
		t.Errorf("a bad one makes it %+v, %v", kept, err)
	}
	for name, raw := range map[string]string{"x": `{`, "toolsListChanged": `1`, "\xff": `1`} {
		f := listen.Filter{Extensions: map[string]json.RawMessage{name: json.RawMessage(raw)}}
		if got, err := json.Marshal(f); err == nil {
			t.Errorf("extension %q, %s becomes %s", name, raw, got)
		}
	}
}
