// Package outcomes is an extension of subscriptions/listen: a client that asks for it is told how each job ended, beside
// whatever else it listens to on the same stream. It asks with a member of its own in the filter,
//
//	"notifications": {"resourcesListChanged": true, "com.example/outcomes": {"failedOnly": true}}
//
// and is told with a notification of its own, tagged with the subscription's id as all are:
//
//	{"method": "notifications/com.example/outcome", "params": {"_meta": {…}, "number": 3, …, "failed": true}}
package outcomes

import (
	"context"
	"encoding/json"

	"github.com/mcp-fsserve/mcp-fsserve/examples/queue"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

const (
	// Member asks for outcomes in a filter, and names the extension among the capabilities of a server.
	Member = "com.example/outcomes"
	// Method tells of one. Its params are a queue.Job.
	Method = "notifications/com.example/outcome"
)

// Filter is the value of Member.
type Filter struct {
	FailedOnly bool `json:"failedOnly"`
}

// Handler answers listens: resources are left to the server's own source, outcomes come from Jobs.
type Handler struct {
	Jobs *queue.Queue
}

// Listen implements listen.Handler.
func (h Handler) Listen(ctx context.Context, r *listen.Request, p *listen.Pending) error {
	raw, asked := r.Filter.Extensions[Member]
	filter := &Filter{}
	if asked {
		if err := json.Unmarshal(raw, &filter); err != nil || filter == nil { // nil: null
			return listen.InvalidParams("notifications.%s must be an object such as {\"failedOnly\": true}", Member)
		}
	}

	// What the specification names is honoured and delivered by the server's own source. Of what it does not name only
	// outcomes are known here: other extensions are left out of the acknowledgement, so that the client knows.
	honoured, err := p.Builtin(ctx, r.Filter)
	if err != nil {
		return err
	}
	honoured.Extensions = nil
	if asked {
		honoured.Extensions = map[string]json.RawMessage{Member: raw}
	}

	// Counted before the acknowledgement, so that nothing is missed in between. Nothing can be sent before it: the Sender
	// comes out of it.
	n := h.Jobs.Count()
	sender, err := p.Acknowledge(honoured)
	if err != nil || honoured.IsEmpty() {
		return err // nil: with nothing to wait for the listen is over
	}
	if !asked {
		<-ctx.Done()
		return nil
	}
	return h.tell(ctx, sender, *filter, n)
}

// tell sends outcomes until the client cancels or the server ends. It returns an error then, to which nobody listens.
func (h Handler) tell(ctx context.Context, sender *listen.Sender, filter Filter, n int) error {
	for {
		job, next, err := h.Jobs.Ended(ctx, n)
		if err != nil {
			return err
		}
		n = next
		if filter.FailedOnly && !job.Failed {
			continue
		}
		// Notify waits until the message is on its way: a slow client holds up itself alone, and nothing piles up for it.
		if err := sender.Notify(ctx, Method, job); err != nil {
			return err
		}
	}
}
