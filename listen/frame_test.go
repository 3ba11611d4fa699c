package listen_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":`

func TestFrames(t *testing.T) {
	everything := listen.Filter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true,
		ResourceSubscriptions: []string{"file:///a%20(b)", "q\"<&>\u2028é"}}
	h := listen.NewHub(nil)
	var subs []listen.Sub
	for _, uri := range everything.ResourceSubscriptions {
		subs = append(subs, listen.Sub{Key: uri, URI: uri})
	}
	s, err := h.Open([]byte(`7`), everything, subs, &counter{}, []byte(`{"name":"x","version":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	h.Publish(listen.Change{List: true, Tools: true, Prompts: true, Keys: everything.ResourceSubscriptions})
	s.Complete()
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `7},"notifications":{` +
			`"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,` +
			"\"resourceSubscriptions\":[\"file:///a%20(b)\",\"q\\\"<&>\u2028é\"]}}}",
		`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{` + meta + `7}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + meta + `7}}}`,
		`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{` + meta + `7}}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + meta + `7},"uri":"file:///a%20(b)"}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + meta + "7},\"uri\":\"q\\\"<&>\u2028é\"}}",
		`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",` + meta + `7,"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"}}}}`,
	} {
		frame, wait := s.Next([]byte("before "), time.Now())
		if string(frame) != "before "+want || wait != 0 {
			t.Errorf("frame is %s, %v\nwant %s", frame, wait, want)
		}
		if isResult := strings.Contains(want, `"result"`); s.Finished() != isResult {
			t.Errorf("finished is %v after %s", s.Finished(), frame)
		}
	}
	if frame, wait := s.Next(nil, time.Now()); frame != nil || wait != listen.Over {
		t.Errorf("after the result comes %s, %v", frame, wait)
	}
}

func TestAcknowledgementHoldsOnlyWhatIsHonoured(t *testing.T) {
	for _, c := range []struct {
		f    listen.Filter
		want string
	}{
		{listen.Filter{}, `{}`},
		{listen.Filter{ResourceSubscriptions: []string{}}, `{}`},
		{listen.Filter{ToolsListChanged: true}, `{"toolsListChanged":true}`},
		{listen.Filter{PromptsListChanged: true}, `{"promptsListChanged":true}`},
		{listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a"}}, `{"resourcesListChanged":true,"resourceSubscriptions":["a"]}`},
	} {
		s := open(t, listen.NewHub(nil), `1`, c.f, &counter{})
		frame, _ := s.Next(nil, time.Now())
		want := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `1},"notifications":` + c.want + `}}`
		if string(frame) != want {
			t.Errorf("acknowledgement is %s\nwant %s", frame, want)
		}
	}
}

func TestIDsAreEchoedByteForByte(t *testing.T) {
	for _, id := range []string{`1`, `"1"`, `0`, `-0`, `-5`, `""`, `9007199254740993`, `-9223372036854775809`,
		`123456789012345678901234567890`, `"\u0061\/b"`, `"é\n"`} {
		h := listen.NewHub(nil)
		s := open(t, h, id, listen.Filter{ResourcesListChanged: true, ResourceSubscriptions: []string{"a"}}, &counter{})
		if string(s.ID()) != id {
			t.Errorf("ID is %s, want %s", s.ID(), id)
		}
		h.Publish(listen.Change{List: true, Keys: []string{"a"}})
		s.Complete()
		for n := 0; ; n++ {
			frame, wait := s.Next(nil, time.Now())
			if wait == listen.Over {
				if n != 4 {
					t.Errorf("%d messages for %s", n, id)
				}
				break
			}
			m := decode(t, frame)
			in := m.Params.Meta
			if m.Result != nil {
				in = m.Result.Meta
				if string(m.ID) != id {
					t.Errorf("result answers %s, want %s", m.ID, id)
				}
			} else if m.ID != nil {
				t.Errorf("notification %s has an id", frame)
			}
			if got := string(in[subscriptionID]); got != id {
				t.Errorf("%s is tagged %s, want %s", frame, got, id)
			}
		}
	}
}

func TestOpenRefusesWhatIsNoID(t *testing.T) {
	h := listen.NewHub(nil)
	for _, id := range []string{``, `null`, `1.5`, `1e3`, `01`, `true`, `{}`, `[1]`, `"a`, `1 `, fmt.Sprintf(`"%0256d"`, 1)} {
		if _, err := h.Open(json.RawMessage(id), listen.Filter{}, nil, &counter{}, nil); err == nil {
			t.Errorf("%s is accepted", id)
		}
	}
	if h.Len() != 0 {
		t.Errorf("%d streams are open", h.Len())
	}
}

func TestServerInfoMayBeLeftOut(t *testing.T) {
	s := open(t, listen.NewHub(nil), `1`, listen.Filter{}, &counter{})
	s.Next(nil, time.Now())
	frame, _ := s.Next(nil, time.Now())
	if m := decode(t, frame); m.Result == nil || m.Result.ResultType != "complete" || m.Result.Meta[serverInfo] != nil {
		t.Errorf("result is %s", frame)
	}
}
