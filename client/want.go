package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Want is what a [Client] follows. The zero value follows nothing, and is live once the server has answered.
type Want struct {
	List    bool     // the list of resources: [Added] and [Removed]
	Tools   bool     // the list of tools: [ToolsChanged]
	Prompts bool     // the list of prompts: [PromptsChanged]
	URIs    []string // these resources, whether there is one or not: [Updated]
	Listed  bool     // each resource that is listed: [Updated]; it implies List
	Read    bool     // keep the contents of each followed resource: [Client.Contents], [Event.Contents]

	// Extensions are further members of the filter of a listen, for a server that knows them: [Notification]. A name that
	// the specification knows is refused. What a server does not honour, or refuses, which keeps nothing else from being
	// followed, is in Unhonoured of the [Live] event and of [Status]. What was refused is asked for again with another value, or
	// on another connection. Servers of earlier revisions honour none.
	Extensions map[string]json.RawMessage
}

// maxFilterBytes bounds the URIs of one listen, and the extensions of all, as they are encoded: a request is then well
// below the 4 MiB that servers take.
const maxFilterBytes = 3 << 20

// specified are the members of a filter that a Want has words of its own for (schema, SubscriptionFilter).
var specified = []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}

// check says what is wrong with w. It copies what the caller could change later, and drops what is there twice.
func (w Want) check() (Want, error) {
	w.List = w.List || w.Listed
	seen := make(map[string]bool, len(w.URIs))
	uris := make([]string, 0, len(w.URIs))
	for _, uri := range w.URIs {
		switch {
		case uri == "":
			return w, errors.New("an empty URI cannot be followed")
		case !utf8.ValidString(uri):
			return w, fmt.Errorf("the URI %q is not valid UTF-8", uri)
		case len(uri) > maxURIBytes:
			return w, fmt.Errorf("the URI %.60q… is %d bytes long, the limit is %d", uri, len(uri), maxURIBytes)
		case !seen[uri]:
			seen[uri] = true
			uris = append(uris, uri)
		}
	}
	w.URIs = uris
	extensions := make(map[string]json.RawMessage, len(w.Extensions))
	size := 0
	for name, value := range w.Extensions {
		if slices.Contains(specified, name) {
			return w, fmt.Errorf("%s is no extension: the specification knows it", name)
		}
		if !utf8.ValidString(name) || !utf8.Valid(value) || !json.Valid(value) {
			return w, fmt.Errorf("the extension %q is not valid JSON in UTF-8", name)
		}
		extensions[name] = slices.Clone(value)
		size += len(encode(name)) + len(encode(value))
	}
	if size > maxFilterBytes/4 {
		return w, fmt.Errorf("the extensions are %d bytes, the limit is %d", size, maxFilterBytes/4)
	}
	w.Extensions = extensions
	return w, nil
}

// unwanted tells what is not to be told to who wants w. Of a resource that is wanted because it is listed only the session
// knows.
func (w Want) unwanted() func(kind Kind, uri string) bool {
	named := make(map[string]bool, len(w.URIs))
	for _, uri := range w.URIs {
		named[uri] = true
	}
	return func(kind Kind, uri string) bool {
		switch kind {
		case Added, Removed:
			return !w.List
		case Updated:
			return !w.Listed && !named[uri]
		case ToolsChanged:
			return !w.Tools
		case PromptsChanged:
			return !w.Prompts
		case Notification:
			return len(w.Extensions) == 0
		}
		return false
	}
}

// maxURIBytes is far above what any server takes; a single URI always fits into a listen.
const maxURIBytes = 64 << 10
