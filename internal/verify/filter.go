package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// filter is the set of notifications that a listen asks for, or is granted (schema, SubscriptionFilter).
type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// parseFilter reads the notifications member of a request or an acknowledgement. Members that it does not know are those
// of extensions. What is malformed is as good as empty.
func parseFilter(raw json.RawMessage) (f filter, err error) {
	if len(raw) == 0 {
		return f, fmt.Errorf("without notifications")
	}
	members, err := jsonrpc.Split(raw)
	if err != nil {
		return f, fmt.Errorf("notifications: %w", err)
	}
	for name, into := range map[string]any{"toolsListChanged": &f.Tools, "promptsListChanged": &f.Prompts,
		"resourcesListChanged": &f.Resources, "resourceSubscriptions": &f.URIs} {
		if value := members.Get(name); value != nil && (string(value) == "null" || json.Unmarshal(value, into) != nil) {
			return filter{}, fmt.Errorf("notifications.%s is %s", name, jsonrpc.Clip(string(value)))
		}
	}
	return f, nil
}

func (f *filter) isEmpty() bool {
	return !f.Tools && !f.Prompts && !f.Resources && len(f.URIs) == 0
}

// beyond are the members of f that asked lacks, by name, and URIs in quotes.
func (f *filter) beyond(asked *filter) (names []string) {
	for _, flag := range []struct {
		name      string
		got, want bool
	}{
		{"toolsListChanged", f.Tools, asked.Tools},
		{"promptsListChanged", f.Prompts, asked.Prompts},
		{"resourcesListChanged", f.Resources, asked.Resources},
	} {
		if flag.got && !flag.want {
			names = append(names, flag.name)
		}
	}
	known := make(map[string]bool, len(asked.URIs))
	for _, uri := range asked.URIs {
		known[uri] = true
	}
	for _, uri := range f.URIs {
		if !known[uri] {
			names = append(names, fmt.Sprintf("%q", jsonrpc.Clip(uri)))
		}
	}
	return names
}

// covers reports whether a listen with this filter may be told of s. What is updated "might be a sub-resource of the one
// that the client actually subscribed to" (schema, ResourceUpdatedNotificationParams): only the server knows, but what
// begins with the URI of the other is one as a rule.
func (f *filter) covers(s Subject) bool {
	switch s.Method {
	case toolsChanged:
		return f.Tools
	case promptsChanged:
		return f.Prompts
	case resourcesChanged:
		return f.Resources
	case updated:
		return slices.ContainsFunc(f.URIs, func(uri string) bool { return strings.HasPrefix(s.URI, uri) })
	}
	return false
}

// names reports whether a listen with this filter must be told of s. Of a resource it must if it has asked for it, or if
// another one is told for the sake of a URI that both have asked for: bases are those.
func (f *filter) names(s Subject, bases []string) bool {
	if s.Method != updated {
		return f.covers(s)
	}
	return slices.ContainsFunc(f.URIs, func(uri string) bool { return uri == s.URI || slices.Contains(bases, uri) })
}

// base is the URI for the sake of which a listen with this filter is told of a resource that it has not asked for by its own
// URI: the longest one that covers it. It is "" if there is none.
func (f *filter) base(s Subject) (longest string) {
	for _, uri := range f.URIs {
		if uri == s.URI {
			return ""
		}
		if strings.HasPrefix(s.URI, uri) && len(uri) > len(longest) {
			longest = uri
		}
	}
	return longest
}
