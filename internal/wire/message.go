package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// take makes events of what came in one frame: one of a message, several of a batch (2025-03-26 has them), one with an
// error of anything else. The messages may alias raw.
func take(raw []byte) []Event {
	raw = bytes.TrimSpace(raw)
	if !jsonrpc.IsBatch(raw) {
		return []Event{takeOne(raw)}
	}
	var parts []json.RawMessage // any number of them, within the limit of the whole
	switch err := json.Unmarshal(raw, &parts); {
	case err != nil:
		return []Event{{Err: frameError(raw, "the batch is not valid JSON")}}
	case len(parts) == 0:
		return []Event{{Err: frameError(raw, "the batch is empty")}}
	}
	events := make([]Event, len(parts))
	for i, part := range parts {
		events[i] = takeOne(part)
	}
	return events
}

func takeOne(raw []byte) Event {
	m, err := parse(raw)
	if err != nil {
		return Event{Err: err}
	}
	return Event{Message: m}
}

// parse reads what a server sends. It judges the envelope alone: an id may be of any kind, since whoever asked compares
// it with what was asked.
func parse(raw []byte) (*Message, *FrameError) {
	if !utf8.Valid(raw) {
		return nil, frameError(raw, "not valid UTF-8")
	}
	fields, err := jsonrpc.Split(raw)
	if err != nil {
		return nil, frameError(raw, "%v", err)
	}
	var version string
	if json.Unmarshal(fields.Get("jsonrpc"), &version) != nil || version != "2.0" {
		return nil, frameError(raw, `jsonrpc is not "2.0"`)
	}
	m := &Message{Raw: raw, ID: fields.Get("id"), Params: fields.Get("params"), Result: fields.Get("result")}
	if method := fields.Get("method"); method != nil {
		if json.Unmarshal(method, &m.Method) != nil || m.Method == "" {
			return nil, frameError(raw, "method is not a non-empty string")
		}
	}
	if fault := fields.Get("error"); fault != nil {
		if fault[0] != '{' || json.Unmarshal(fault, &m.Error) != nil {
			return nil, frameError(raw, "error is not an object with a code and a message")
		}
	}
	answers := 0
	for _, is := range []bool{m.Method != "", m.Result != nil, m.Error != nil} {
		if is {
			answers++
		}
	}
	if answers != 1 {
		return nil, frameError(raw, "one of method, result and error must be there")
	}
	return m, nil
}
