package listen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// Filter is the set of notification types of one listen, as asked for or as honoured (schema, SubscriptionFilter). In
// JSON it is the notifications member of a request or an acknowledgement.
type Filter struct {
	ToolsListChanged      bool
	PromptsListChanged    bool
	ResourcesListChanged  bool
	ResourceSubscriptions []string // URIs in the client's spelling
	// Extensions are the members that the specification does not name, by name: JSON of any kind. Nil if there are none.
	Extensions map[string]json.RawMessage
}

// The members that the specification names.
const (
	memberTools     = "toolsListChanged"
	memberPrompts   = "promptsListChanged"
	memberResources = "resourcesListChanged"
	memberURIs      = "resourceSubscriptions"
)

func isSpecified(member string) bool {
	switch member {
	case memberTools, memberPrompts, memberResources, memberURIs:
		return true
	}
	return false
}

// ParseFilter reads the notifications member of a listen request's params, nil if there is none. Members that the
// specification does not name become extensions, whose values alias it; a URI given twice counts once. What cannot be
// repeated, a URI or a name with an escape that is half of a character, is left out. The error names the member at fault and
// is fit for the client.
func ParseFilter(notifications json.RawMessage) (Filter, error) {
	if len(notifications) == 0 {
		return Filter{}, errors.New("notifications is missing")
	}
	if !begins(notifications, '{') {
		return Filter{}, errors.New("notifications must be an object")
	}
	if !utf8.Valid(notifications) {
		return Filter{}, errors.New("notifications is not valid UTF-8")
	}
	members, err := jsonrpc.Split(notifications)
	if err != nil {
		return Filter{}, fmt.Errorf("notifications: %w", err)
	}
	var f Filter
	for _, flag := range []struct {
		name string
		on   *bool
	}{
		{memberTools, &f.ToolsListChanged},
		{memberPrompts, &f.PromptsListChanged},
		{memberResources, &f.ResourcesListChanged},
	} {
		switch raw := members.Get(flag.name); {
		case raw == nil || string(raw) == "false":
		case string(raw) == "true":
			*flag.on = true
		default:
			return Filter{}, fmt.Errorf("notifications.%s must be a boolean", flag.name)
		}
	}
	if raw := members.Get(memberURIs); raw != nil {
		if f.ResourceSubscriptions, err = parseURIs(raw); err != nil {
			return Filter{}, err
		}
	}
	for name, value := range members.All() {
		if isSpecified(name) || !utf8.ValidString(name) {
			continue
		}
		if f.Extensions == nil {
			f.Extensions = map[string]json.RawMessage{}
		}
		f.Extensions[name] = value
	}
	return f, nil
}

func parseURIs(raw json.RawMessage) ([]string, error) {
	var values []json.RawMessage
	if !begins(raw, '[') || json.Unmarshal(raw, &values) != nil {
		return nil, errors.New("notifications.resourceSubscriptions must be an array of strings")
	}
	uris := make([]string, 0, len(values))
	seen := make(map[string]bool, len(values))
	for i, value := range values {
		var uri string
		if !begins(value, '"') || json.Unmarshal(value, &uri) != nil {
			return nil, fmt.Errorf("notifications.resourceSubscriptions[%d] must be a string", i)
		}
		if !seen[uri] && jsonrpc.IsText(value) {
			seen[uri] = true
			uris = append(uris, uri)
		}
	}
	return uris, nil
}

// begins reports whether a JSON value begins with c. It tells null apart, which encoding/json takes for any type.
func begins(raw []byte, c byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == c
}

// IsEmpty reports whether f asks for nothing.
func (f Filter) IsEmpty() bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0 &&
		len(f.Extensions) == 0
}

// MarshalJSON encodes the filter as an acknowledgement has it: what is not in it is left out.
func (f Filter) MarshalJSON() ([]byte, error) {
	c, err := f.compact()
	if err != nil {
		return nil, err
	}
	return appendFilter(nil, &c), nil
}

// UnmarshalJSON is [ParseFilter], but leaves the filter as it is where there is null.
func (f *Filter) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	parsed, err := ParseFilter(bytes.Clone(raw))
	if err == nil {
		*f = parsed
	}
	return err
}

// clone returns a filter whose URIs and names of extensions nobody else can change.
func (f Filter) clone() Filter {
	f.ResourceSubscriptions = slices.Clone(f.ResourceSubscriptions)
	f.Extensions = maps.Clone(f.Extensions)
	return f
}

// lists are the kinds of list that are in f.
func (f *Filter) lists() [kinds]bool {
	return [kinds]bool{
		resourcesList: f.ResourcesListChanged,
		toolsList:     f.ToolsListChanged,
		promptsList:   f.PromptsListChanged,
	}
}
