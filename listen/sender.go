package listen

import (
	"context"
	"fmt"
)

// Sender says on an acknowledged listen what a [Handler] has to say. All methods may be called from any goroutine, also
// after the handler has returned: then the error says why nothing is sent any more, ErrCancelled, ErrShutdown or ErrEnded.
type Sender struct{ s *Stream }

// Updated owes the client an updated for a URI that was acknowledged, in that spelling. It does not wait: a URI that changes
// again before its notification was pulled is said once, and paced, together with what the built-in source tells of it.
// The error is ErrNotAcknowledged, or why the listen has ended.
func (d *Sender) Updated(uri string) error { return d.mark(updated, uri) }

// ResourcesListChanged owes the client that notification, like Updated.
func (d *Sender) ResourcesListChanged() error { return d.mark(resourcesList, "") }

// ToolsListChanged owes the client that notification, like Updated.
func (d *Sender) ToolsListChanged() error { return d.mark(toolsList, "") }

// PromptsListChanged owes the client that notification, like Updated.
func (d *Sender) PromptsListChanged() error { return d.mark(promptsList, "") }

func (d *Sender) mark(k kind, uri string) error {
	s := d.s
	s.mu.Lock()
	it, err := s.acknowledgedLocked(k, uri)
	wake := err == nil && s.markLocked(it, "")
	s.mu.Unlock()
	if wake {
		s.carrier.Wake(s)
	}
	return err
}

// acknowledgedLocked finds what says a change on a stream that lives.
func (s *Stream) acknowledgedLocked(k kind, uri string) (*item, error) {
	if cause := s.handled.cause; cause != nil {
		return nil, cause
	}
	if it := s.findKind(k, uri); it != nil {
		return it, nil
	}
	if k == updated {
		return nil, fmt.Errorf("updated for %q: %w", uri, ErrNotAcknowledged)
	}
	return nil, fmt.Errorf("%s: %w", methods[k], ErrNotAcknowledged)
}

// Notify sends any other notification, such as one of an extension. params is encoded as JSON and must be an object, or
// nil; its _meta is kept, with the id of the subscription in it. Notify returns when the message was handed out to the
// transport, after the changes that were due by then; with an error, it was not and never will be. So a handler is never
// ahead of a slow client by more than what it says at a time.
//
// The error is the cause of ctx, why the listen has ended, ErrNotHere for what the specification has elsewhere,
// ErrNotAcknowledged for one of its changes that was not acknowledged, or says what is no notification.
func (d *Sender) Notify(ctx context.Context, method string, params any) error {
	frame, err := encodeNotification(d.s.id, method, params)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := d.s.post(method, frame)
	if err != nil {
		return err
	}
	select {
	case <-p.settled:
	case <-ctx.Done():
		d.s.withdraw(p, context.Cause(ctx))
	}
	return p.err
}
