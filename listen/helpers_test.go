package listen_test

import (
	"bytes"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// counter is a carrier that only counts.
type counter struct{ wakes atomic.Int64 }

func (c *counter) Wake(*listen.Stream) { c.wakes.Add(1) }

// carrierFunc is a carrier in one function.
type carrierFunc func(*listen.Stream)

func (f carrierFunc) Wake(s *listen.Stream) { f(s) }

// message is any message of a stream.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Meta          map[string]json.RawMessage `json:"_meta"`
		URI           string                     `json:"uri"`
		Notifications *listen.Filter             `json:"notifications"`
	} `json:"params"`
	Error  *listen.Error `json:"error"`
	Result *struct {
		ResultType string                     `json:"resultType"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	} `json:"result"`
}

const (
	subscriptionID = "io.modelcontextprotocol/subscriptionId"
	serverInfo     = "io.modelcontextprotocol/serverInfo"
	changedMeta    = "test/changed" // for Options.ChangedMeta

	methodAck     = "notifications/subscriptions/acknowledged"
	methodUpdated = "notifications/resources/updated"
	methodList    = "notifications/resources/list_changed"
	methodTools   = "notifications/tools/list_changed"
	methodPrompts = "notifications/prompts/list_changed"
)

// said is what a message tells in short: "ack", "result", "error", the URI, or the method of a list_changed.
func (m message) said() string {
	switch {
	case m.Result != nil:
		return "result"
	case m.Error != nil:
		return "error"
	case m.Method == methodAck:
		return "ack"
	case m.Method == methodUpdated:
		return m.Params.URI
	default:
		return m.Method
	}
}

// named is what an updated names, nil if it names nothing.
func (m message) named() (keys []string, err error) {
	if raw, ok := m.Params.Meta[changedMeta]; ok {
		err = json.Unmarshal(raw, &keys)
	}
	return keys, err
}

func decode(t testing.TB, frame []byte) message {
	t.Helper()
	var m message
	if err := json.Unmarshal(frame, &m); err != nil {
		t.Fatalf("%s: %v", frame, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, frame); err != nil || !bytes.Equal(compact.Bytes(), frame) {
		t.Fatalf("%q is not compact", frame)
	}
	if m.JSONRPC != "2.0" {
		t.Fatalf("%s is not JSON-RPC", frame)
	}
	return m
}

// drain pulls until there is nothing due and returns what was said and the wait.
func drain(t testing.TB, s *listen.Stream, now time.Time) (said []string, wait time.Duration) {
	t.Helper()
	for {
		frame, wait := s.Next(nil, now)
		if frame == nil {
			return said, wait
		}
		said = append(said, decode(t, frame).said())
	}
}

func open(t testing.TB, h *listen.Hub, id string, f listen.Filter, c listen.Carrier) *listen.Stream {
	t.Helper()
	var subs []listen.Sub
	for _, uri := range f.ResourceSubscriptions {
		subs = append(subs, listen.Sub{Key: uri, URI: uri})
	}
	var raw json.RawMessage
	if id != "" {
		raw = json.RawMessage(id)
	}
	s, err := h.Open(raw, f, subs, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func uris(uris ...string) listen.Filter { return listen.Filter{ResourceSubscriptions: uris} }

func publish(h *listen.Hub, keys ...string) { h.Publish(listen.Change{Keys: keys}) }
