package transport

import (
	"encoding/json"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// params are the members of a request's params, or of an object in them.
type params struct{ jsonrpc.Object }

// object splits the object raw. where names it in errors.
func object(where string, raw json.RawMessage) (params, error) {
	if raw == nil {
		return params{}, nil
	}
	if raw[0] != '{' {
		return params{}, invalid("%s must be an object", where)
	}
	members, err := jsonrpc.Split(raw)
	if err != nil {
		return params{}, invalid("%s: %v", where, err)
	}
	return params{members}, nil
}

// object returns an optional member that must be an object, without any member if there is none.
func (p params) object(name, where string) (params, error) {
	return object(where, p.Get(name))
}

// text returns an optional member that must be a string. where names it in errors.
func (p params) text(name, where string) (value string, ok bool, err error) {
	raw := p.Get(name)
	if raw == nil {
		return "", false, nil
	}
	value, ok = jsonrpc.Text(raw)
	if !ok {
		return "", false, invalid("%s must be a string", where)
	}
	return value, true, nil
}

// required returns a member that must be there and a string. hint says what to send.
func (p params) required(name, where, hint string) (string, error) {
	value, ok, err := p.text(name, where)
	if err == nil && !ok {
		err = missing(where, hint)
	}
	return value, err
}

// requiredObject returns a member that must be there and an object. hint says what to send.
func (p params) requiredObject(name, where, hint string) (params, error) {
	if !p.Has(name) {
		return params{}, missing(where, hint)
	}
	return p.object(name, where)
}

func missing(where, hint string) error { return invalid("%s is missing: %s", where, hint) }

// invalid is the error of a malformed parameter.
func invalid(format string, args ...any) error {
	return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params: "+format, args...)
}
