package main

import (
	"encoding/json"
	"fmt"
	"net/url"
)

// revision is the protocol's that every server is asked in.
const revision = "2026-07-28"

// message is a request, as it goes over pipes and over HTTP.
type message struct {
	method string
	name   string // of the resource, which a header repeats
	params map[string]any
}

func discover() message { return message{method: "server/discover"} }

func read(file string) message {
	uri := uriBase + file
	return message{method: "resources/read", name: uri, params: map[string]any{"uri": uri}}
}

func list(cursor string) message {
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	return message{method: "resources/list", params: params}
}

func listenTo(uris ...string) message {
	return message{method: "subscriptions/listen", params: map[string]any{
		"notifications": map[string]any{"resourceSubscriptions": uris}}}
}

// listenToList asks for changes of the list, and for the same.
func listenToList(uris ...string) message {
	asked := map[string]any{"resourcesListChanged": true}
	if len(uris) > 0 {
		asked["resourceSubscriptions"] = uris
	}
	return message{method: "subscriptions/listen", params: map[string]any{"notifications": asked}}
}

// encode returns the message as JSON.
func (m message) encode(id int) []byte {
	params := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    revision,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "bench", "version": "1.0.0"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	for name, value := range m.params {
		params[name] = value
	}
	encoded, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": m.method, "params": params})
	if err != nil {
		panic(fmt.Sprintf("a request cannot be encoded: %v", err))
	}
	return encoded
}

// post returns the message as a request over HTTP/1.1, on a connection that stays.
func (m message) post(endpoint *url.URL, id int) []byte {
	body := m.encode(id)
	head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: %s\r\nMcp-Method: %s\r\n",
		endpoint.Path, endpoint.Host, revision, m.method)
	if m.name != "" {
		head = fmt.Appendf(head, "Mcp-Name: %s\r\n", m.name)
	}
	return append(fmt.Appendf(head, "Content-Length: %d\r\n\r\n", len(body)), body...)
}

// get returns a request for a file of a plain server.
func get(endpoint *url.URL, file string) []byte {
	return fmt.Appendf(nil, "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n", file, endpoint.Host)
}

// answer is what a server says to a request, as far as it is looked at.
type answer struct {
	Result *struct {
		Contents []struct {
			Text string `json:"text"`
			Blob []byte `json:"blob"`
		} `json:"contents"`
		Resources []struct {
			URI string `json:"uri"`
		} `json:"resources"`
		NextCursor        string   `json:"nextCursor"`
		SupportedVersions []string `json:"supportedVersions"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func parseAnswer(said []byte) (*answer, error) {
	var a answer
	if err := json.Unmarshal(said, &a); err != nil {
		return nil, fmt.Errorf("the server answers %.200q: %w", said, err)
	}
	if a.Error != nil {
		return nil, fmt.Errorf("the server refuses: %d %s", a.Error.Code, a.Error.Message)
	}
	if a.Result == nil {
		return nil, fmt.Errorf("the server answers %.200q, which has no result", said)
	}
	return &a, nil
}
