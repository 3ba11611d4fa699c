package main

import (
	"encoding/json"
	"time"
)

const (
	revision   = "2026-07-28"
	serverInfo = `{"name":"plain-clock","version":"1.0.0"}`
)

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		URI  string
		Meta struct {
			Revision string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
}

type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *problem        `json:"error,omitempty"`
}

type problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// object is JSON.
type object = map[string]any

// answer answers a request of revision 2026-07-28. Nothing is owed for a notification.
func answer(line []byte) (r reply, owed bool) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil || asked.ID == nil {
		return reply{}, false
	}
	r = reply{JSONRPC: "2.0", ID: asked.ID}
	r.Result, r.Error = serve(&asked)
	return r, true
}

func serve(asked *request) (any, *problem) {
	if v := asked.Params.Meta.Revision; v != revision {
		return nil, &problem{-32022, "unsupported protocol version", object{"supported": []string{revision}, "requested": v}}
	}
	switch asked.Method {
	case "server/discover":
		return complete("supportedVersions", []string{revision}, "capabilities", object{"resources": object{"subscribe": true}}), nil
	case "resources/list":
		return complete("resources", []object{{"uri": clock, "name": "clock"}}), nil
	case "resources/templates/list":
		return complete("resourceTemplates", []object{}), nil
	case "resources/read":
		if asked.Params.URI != clock {
			return nil, &problem{-32602, "resource not found", object{"uri": asked.Params.URI}}
		}
		return complete("contents", []object{{"uri": clock, "text": time.Now().Format(time.RFC3339)}}), nil
	}
	return nil, &problem{Code: -32601, Message: "method not found: " + asked.Method}
}

// complete makes a result, which must not be taken for fresh: the clock goes on.
func complete(members ...any) object {
	result := object{"resultType": "complete", "ttlMs": 0, "cacheScope": "public",
		"_meta": object{"io.modelcontextprotocol/serverInfo": json.RawMessage(serverInfo)}}
	for i := 0; i < len(members); i += 2 {
		result[members[i].(string)] = members[i+1]
	}
	return result
}
