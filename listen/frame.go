package listen

import (
	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// kind is what a message says.
type kind uint8

const (
	updated kind = iota
	resourcesList
	toolsList
	promptsList
	kinds // how many kinds of change there are; what follows is none
	acknowledged
	result
	failed
	posted
	nothing
	ended
)

var methods = [...]string{
	updated:       "notifications/resources/updated",
	resourcesList: "notifications/resources/list_changed",
	toolsList:     "notifications/tools/list_changed",
	promptsList:   "notifications/prompts/list_changed",
	acknowledged:  "notifications/subscriptions/acknowledged",
}

// Every message of a subscription carries this key with the id of the listen request, byte for byte (2026-07-28,
// basic/patterns/subscriptions, "Receiving Notifications").
const (
	subscriptionKey = "io.modelcontextprotocol/subscriptionId"
	subscriptionID  = `"_meta":{"` + subscriptionKey + `":`
)

// heads holds each notification up to the subscription's id: a delivery copies it and stamps the id.
var heads = func() (heads [len(methods)]string) {
	for k, method := range methods {
		heads[k] = `{"jsonrpc":"2.0","method":"` + method + `","params":{` + subscriptionID
	}
	return heads
}()

func appendAcknowledged(dst []byte, id string, f *Filter) []byte {
	dst = append(dst, heads[acknowledged]...)
	dst = append(dst, id...)
	dst = append(dst, `},"notifications":`...)
	dst = appendFilter(dst, f)
	return append(dst, `}}`...)
}

// appendFilter leaves out what is not honoured ("Acknowledgment": unsupported types are omitted). Extensions are compact.
func appendFilter(dst []byte, f *Filter) []byte {
	sep := byte('{')
	member := func(name string) {
		dst = append(dst, sep, '"')
		dst = append(dst, name...)
		dst = append(dst, `":`...)
		sep = ','
	}
	flag := func(name string, on bool) {
		if on {
			member(name)
			dst = append(dst, "true"...)
		}
	}
	flag(memberTools, f.ToolsListChanged)
	flag(memberPrompts, f.PromptsListChanged)
	flag(memberResources, f.ResourcesListChanged)
	if len(f.ResourceSubscriptions) > 0 {
		member(memberURIs)
		for i, uri := range f.ResourceSubscriptions {
			dst = append(dst, "[,"[min(i, 1)])
			dst = jsonrpc.AppendString(dst, uri)
		}
		dst = append(dst, ']')
	}
	if len(f.Extensions) > 0 {
		start := len(dst)
		dst = appendMembers(dst, f.Extensions)
		dst[start] = sep
		sep = ','
	}
	if sep == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// appendChange encodes the notification of a change, untagged if id is empty. changedMember opens the array of what it
// names.
func appendChange(dst []byte, id string, m message, changedMember string) []byte {
	if id == "" {
		dst = append(dst, `{"jsonrpc":"2.0","method":"`...)
		dst = append(dst, methods[m.kind]...)
		if m.kind != updated {
			return append(dst, `"}`...)
		}
		dst = append(dst, `","params":{`...)
		if len(m.named) > 0 {
			dst = append(dst, `"_meta":{`...)
			dst = appendNamed(dst, changedMember, m.named)
			dst = append(dst, `},`...)
		}
	} else {
		dst = append(dst, heads[m.kind]...)
		dst = append(dst, id...)
		if m.kind != updated {
			return append(dst, `}}}`...)
		}
		if len(m.named) > 0 {
			dst = append(dst, ',')
			dst = appendNamed(dst, changedMember, m.named)
		}
		dst = append(dst, `},`...)
	}
	dst = append(dst, `"uri":`...)
	dst = jsonrpc.AppendString(dst, m.uri)
	return append(dst, `}}`...)
}

func appendNamed(dst []byte, changedMember string, keys []string) []byte {
	dst = append(dst, changedMember...)
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(dst, key)
	}
	return append(dst, ']')
}

// appendResult encodes the answer to the listen request, which ends the subscription in good order ("Graceful
// Closure"). No notifications/cancelled goes with it, although basic/patterns/cancellation asks for one: the two pages
// contradict each other, and clients take the result for a graceful end and the notification for a loss.
func appendResult(dst []byte, id string, serverInfo []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"result":{"resultType":"complete",`...)
	dst = append(dst, subscriptionID...)
	dst = append(dst, id...)
	if len(serverInfo) > 0 {
		dst = append(dst, `,"io.modelcontextprotocol/serverInfo":`...)
		dst = append(dst, serverInfo...)
	}
	return append(dst, `}}}`...)
}

// appendFailure encodes the error answer to the listen request.
func appendFailure(dst []byte, id string, failure []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"error":`...)
	dst = append(dst, failure...)
	return append(dst, '}')
}
