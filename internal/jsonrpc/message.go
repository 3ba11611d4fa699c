package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Error codes of JSON-RPC 2.0.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// Error is the error member of an answer.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Errorf makes an Error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Message is one received message. A request has an ID and a Method, a notification only a Method, a response only an
// ID or nothing.
type Message struct {
	ID     ID
	Method string
	Params json.RawMessage // a JSON object, nil when absent
}

// IsRequest reports whether an answer is owed.
func (m *Message) IsRequest() bool { return m.Method != "" && !m.ID.IsZero() }

// IsNotification reports whether the message must not be answered.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID.IsZero() }

// IsBatch reports whether data, leading white space aside, is an array.
func IsBatch(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '['
}

// Batch splits a batch into its messages, each still to be parsed. An empty batch is an invalid request.
func Batch(data []byte) ([]json.RawMessage, *Error) {
	if err := valid(data); err != nil {
		return nil, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, Errorf(ParseError, "parse error: %v", err)
	}
	if len(all) == 0 {
		return nil, Errorf(InvalidRequest, "empty batch")
	}
	return all, nil
}

// Parse reads one message. On an error the returned message still carries the ID if one could be read, because an
// error answer must repeat it (basic/index, "Error Responses"); what is no request, such as a malformed
// notification, carries none.
func Parse(data []byte) (Message, *Error) {
	var m Message
	if err := valid(data); err != nil {
		return m, err
	}
	fields, err := Members(data)
	if err != nil {
		return m, Errorf(InvalidRequest, "invalid request: %v", err)
	}
	if raw, ok := fields["id"]; ok {
		if m.ID, ok = ParseID(raw); !ok {
			return m, Errorf(InvalidRequest, "invalid request: id must be an integer or a string of at most %d bytes", MaxIDBytes)
		}
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return m, Errorf(InvalidRequest, `invalid request: jsonrpc must be "2.0"`)
	}
	raw, ok := fields["method"]
	if !ok {
		_, result := fields["result"]
		_, failure := fields["error"]
		if result || failure {
			return m, nil
		}
		return m, Errorf(InvalidRequest, "invalid request: method is missing")
	}
	if raw[0] != '"' || json.Unmarshal(raw, &m.Method) != nil || m.Method == "" {
		m.Method = ""
		return m, Errorf(InvalidRequest, "invalid request: method must be a non-empty string")
	}
	if raw, ok := fields["params"]; ok {
		if raw[0] != '{' {
			return m, Errorf(InvalidParams, "invalid params: params must be an object")
		}
		m.Params = raw
	}
	return m, nil
}

// valid refuses what is not exactly one JSON text in UTF-8 (RFC 8259, section 8.1).
func valid(data []byte) *Error {
	if !utf8.Valid(data) {
		return Errorf(ParseError, "parse error: not valid UTF-8")
	}
	if !json.Valid(data) {
		return Errorf(ParseError, "parse error: not valid JSON")
	}
	return nil
}
