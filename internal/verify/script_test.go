package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// recordingOf makes a recording of a script, which has a line for each entry:
//
//	> listen ID FILTER [PART]   the probe asks for a listen; - is no filter at all
//	> ask ID [PART]             it asks for something else
//	< ack ID FILTER             the server acknowledges
//	< list ID, tools ID, progress ID, updated ID URI, odd ID     it tells something; ID - is no tag
//	< result ID [TAG]           it answers with a result, < error ID with an error, < error ID limit with one that says so
//	< raw MESSAGE               it sends that
//	garbage, long ID, end [ERROR]   it sends what is no message, or what is too long to be taken, or ends the pipe
//	cancel ID, heard, gaveup ID, change SUBJECT, own, shown, restless, settled, stalled, released, closing, dropped, closed [ERROR]
//	wait TIME                   that passes
//
// Over HTTP what the server does has the id of the request whose answer it is in before it: 7< ack 7 list, 7 end. A line that
// begins with 2/ is of the second connection. FILTER is a list of tools, prompts, list and URIs, with commas; none is the
// empty one.
func recordingOf(t testing.TB, http bool, script string) *Recording {
	t.Helper()
	s := &scriptReader{t: t, rec: &Recording{HTTP: http, Patience: 10 * time.Second, Serves: Capabilities{Known: true, HasResources: true, Resources: true, Subscribe: true}},
		now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" {
			s.line(line)
		}
	}
	return s.rec
}

type scriptReader struct {
	t      testing.TB
	rec    *Recording
	now    time.Time
	change *Change
}

var parts = map[string]Part{"crowd": Crowd, "malformed": Malformed, "identity": Identity, "early": Early, "late": Late, "cut": Cut, "baggage": Baggage}

func (s *scriptReader) line(line string) {
	e := Entry{Conn: 1}
	if rest, second := strings.CutPrefix(line, "2/"); second {
		e.Conn, line = 2, rest
	}
	words := strings.Fields(line)
	if id, ok := strings.CutSuffix(words[0], "<"); ok && id != "" {
		e.Request = json.RawMessage(id)
		words[0] = "<"
	} else if len(words) > 1 && words[1] == "end" {
		e.Request = json.RawMessage(words[0])
		words = words[1:]
	}
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	fault := func(text string) error {
		switch text {
		case "":
			return nil
		case "forced":
			return wire.ErrForced
		case "status":
			return &wire.StatusError{Status: 400}
		case "busy":
			return &wire.StatusError{Status: 503}
		}
		return errors.New(text)
	}
	switch words[0] {
	case ">":
		e.Kind, e.ID = Sent, json.RawMessage(arg(2))
		e.Message = &wire.Message{Method: "server/discover", ID: e.ID}
		e.Part = parts[words[len(words)-1]]
		if arg(1) == "listen" {
			e.Message.Method = listenMethod
			e.Message.Params = json.RawMessage(`{"notifications":` + filterText(arg(3)) + `}`)
			if arg(3) == "-" {
				e.Message.Params = json.RawMessage(`{}`)
			}
		}
	case "<":
		e.Kind, e.Message = Received, s.message(arg, line)
	case "garbage":
		e.Kind, e.Err = Broken, &wire.FrameError{Reason: "not valid JSON"}
	case "long":
		e.Kind, e.Err = Broken, &wire.FrameError{Reason: "it is too long", TooLong: true, ID: json.RawMessage(arg(1))}
	case "end":
		e.Kind, e.Err = Ended, fault(arg(1))
	case "cancel", "gaveup":
		e.Kind, e.ID = map[string]Kind{"cancel": Cancel, "gaveup": GaveUp}[words[0]], json.RawMessage(arg(1))
	case "own", "change":
		s.change = &Change{Own: words[0] == "own", What: subjectOf(arg(1))}
		e.Kind, e.Change = Changing, s.change
	case "shown", "restless", "settled":
		e.Kind, e.Change = map[string]Kind{"shown": Shown, "restless": Restless, "settled": Settled}[words[0]], s.change
	case "heard", "stalled", "released", "closing", "dropped", "closed":
		e.Kind = map[string]Kind{"heard": Heard, "stalled": Stalled, "released": Released, "closing": Closing, "dropped": Dropped, "closed": Closed}[words[0]]
		e.Err = fault(arg(1))
	case "wait":
		d, err := time.ParseDuration(arg(1))
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
		return
	default:
		s.t.Fatalf("no such line: %s", line)
	}
	s.now = s.now.Add(time.Millisecond)
	e.At = s.now
	s.rec.Entries = append(s.rec.Entries, e)
}

func filterText(words string) string {
	f := filter{}
	for _, w := range strings.Split(words, ",") {
		switch w {
		case "tools":
			f.Tools = true
		case "prompts":
			f.Prompts = true
		case "list":
			f.Resources = true
		case "none", "-":
		case "true":
			return "true"
		default:
			f.URIs = append(f.URIs, w)
		}
	}
	text, _ := json.Marshal(f)
	return string(text)
}

func subjectOf(word string) Subject {
	switch word {
	case "list":
		return Subject{Method: resourcesChanged}
	case "tools":
		return Subject{Method: toolsChanged}
	}
	return Subject{Method: updated, URI: word}
}

func (s *scriptReader) message(arg func(int) string, line string) *wire.Message {
	id := arg(2)
	meta := ""
	if id != "-" {
		meta = fmt.Sprintf(`"_meta":{%q:%s}`, mcp.MetaSubscriptionID, id)
	}
	note := func(method string, more ...string) *wire.Message {
		params := "{" + strings.Join(append(strings.Fields(meta), more...), ",") + "}"
		return &wire.Message{Method: method, Params: json.RawMessage(params), Raw: []byte(fmt.Sprintf(`{"method":%q,"params":%s}`, method, params))}
	}
	switch arg(1) {
	case "ack":
		return note(acknowledged, `"notifications":`+filterText(arg(3)))
	case "ack!":
		return note(acknowledged)
	case "list":
		return note(resourcesChanged)
	case "tools":
		return note(toolsChanged)
	case "progress":
		return note(progress)
	case "odd":
		return note("notifications/example/odd")
	case "updated":
		return note(updated, fmt.Sprintf(`"uri":%q`, arg(3)))
	case "result":
		tag := ""
		if t := arg(3); t != "" {
			tag = fmt.Sprintf(`,"_meta":{%q:%s}`, mcp.MetaSubscriptionID, t)
		}
		result := `{"resultType":"complete"` + tag + `}`
		return &wire.Message{ID: json.RawMessage(id), Result: json.RawMessage(result), Raw: []byte(`{"id":` + id + `,"result":` + result + `}`)}
	case "error":
		failure := jsonrpc.Errorf(jsonrpc.InvalidParams, "no")
		if arg(3) == "limit" {
			failure = jsonrpc.Errorf(jsonrpc.InternalError, "too many listens are open")
		}
		return &wire.Message{ID: json.RawMessage(id), Error: failure, Raw: []byte(`{"id":` + id + `,"error":{}}`)}
	case "raw":
		_, text, _ := strings.Cut(line, "raw ")
		fields, err := jsonrpc.Members([]byte(text))
		if err != nil {
			s.t.Fatal(err)
		}
		m := &wire.Message{Raw: []byte(text), ID: fields["id"], Params: fields["params"], Result: fields["result"]}
		_ = json.Unmarshal(fields["method"], &m.Method)
		return m
	}
	s.t.Fatalf("no such message: %s", line)
	return nil
}
