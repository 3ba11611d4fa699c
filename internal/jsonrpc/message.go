package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
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

// Encode encodes the error, compact, leaving "<" and "&" as they are. Data that cannot be is left out.
func (e *Error) Encode() []byte {
	dst := make([]byte, 0, len(e.Message)+64)
	dst = strconv.AppendInt(append(dst, `{"code":`...), int64(e.Code), 10)
	dst = AppendString(append(dst, `,"message":`...), e.Message)
	if e.Data != nil {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(e.Data); err == nil && utf8.Valid(b.Bytes()) {
			dst = append(append(dst, `,"data":`...), bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
		}
	}
	return append(dst, '}')
}

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

// MaxBatch is how many messages one batch may hold: each is an answer that waits for all the others.
const MaxBatch = 100

// Batch splits a batch into its messages, each still to be parsed, which alias data. An empty batch, or one above
// [MaxBatch], is an invalid request.
func Batch(data []byte) ([]json.RawMessage, *Error) {
	if !utf8.Valid(data) {
		return nil, errNotUTF8()
	}
	if !IsBatch(data) {
		return nil, errNotJSON()
	}
	var all []json.RawMessage
	i := skipSpace(data, skipSpace(data, 0)+1)
	for more := i < len(data) && data[i] != ']'; more; {
		if len(all) == MaxBatch {
			return nil, Errorf(InvalidRequest, "invalid request: the batch has more than %d members, the limit: send it in parts", MaxBatch)
		}
		end := scanValue(data, i, 1)
		if end < 0 {
			return nil, errNotJSON()
		}
		all = append(all, data[i:end:end])
		i = skipSpace(data, end)
		if more = i < len(data) && data[i] == ','; more {
			i = skipSpace(data, i+1)
		}
	}
	if i >= len(data) || data[i] != ']' || skipSpace(data, i+1) != len(data) {
		return nil, errNotJSON()
	}
	if len(all) == 0 {
		return nil, Errorf(InvalidRequest, "invalid request: the batch is empty")
	}
	return all, nil
}

// Parse reads one message. On an error the returned message still carries the ID if one could be read, because an
// error answer must repeat it (basic/index, "Error Responses"); what is no request, such as a malformed
// notification, carries none.
func Parse(data []byte) (Message, *Error) {
	var m Message
	if !utf8.Valid(data) {
		return m, errNotUTF8()
	}
	var room [6]member // on the stack, and as much as a message has
	fields, err := scanMembers(data, room[:0])
	if err == errSyntax {
		return m, errNotJSON()
	}
	if err == nil {
		err = fields.settle()
	}
	if err != nil {
		m.ID, _ = ParseID(fields.get(data, "id"))
		return m, Errorf(InvalidRequest, "invalid request: %v", err)
	}
	if raw := fields.get(data, "id"); raw != nil {
		var ok bool
		if m.ID, ok = ParseID(raw); !ok {
			return m, Errorf(InvalidRequest, "invalid request: id must be an integer or a string of at most %d bytes", MaxIDBytes)
		}
	}
	if !isVersion(fields.get(data, "jsonrpc")) {
		return m, Errorf(InvalidRequest, `invalid request: jsonrpc must be "2.0"`)
	}
	raw := fields.get(data, "method")
	if raw == nil {
		if fields.get(data, "result") != nil || fields.get(data, "error") != nil {
			return m, nil
		}
		return m, Errorf(InvalidRequest, "invalid request: method is missing")
	}
	var ok bool
	if m.Method, ok = Text(raw); !ok || m.Method == "" {
		m.Method = ""
		return m, Errorf(InvalidRequest, "invalid request: method must be a non-empty string")
	}
	if raw := fields.get(data, "params"); raw != nil {
		if raw[0] != '{' {
			return m, Errorf(InvalidParams, "invalid params: params must be an object")
		}
		m.Params = raw
	}
	return m, nil
}

// isVersion reports whether a value is the string "2.0", however it is spelled.
func isVersion(raw []byte) bool {
	const usual = `"2.0"`
	return string(raw) == usual || len(raw) > len(usual) && raw[0] == '"' && unquote(raw) == "2.0"
}

// What is not one JSON text in UTF-8 is no message (RFC 8259, section 8.1).

func errNotUTF8() *Error { return Errorf(ParseError, "parse error: not valid UTF-8") }

func errNotJSON() *Error { return Errorf(ParseError, "parse error: not valid JSON") }
