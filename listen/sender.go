package listen

import (
	"context"
	"fmt"
)

// Sender says on an acknowledged listen what a [Handler] has to say. Its methods may be called from any goroutine, also
// after the handler has returned: their error then says why nothing is sent any more, as ErrCancelled, ErrShutdown or
// ErrEnded.
type Sender struct{ s *Stream }

// Updated owes the client an updated for a URI that was acknowledged, in that spelling. It does not wait: a URI that changes
// again before its notification was pulled is said once, in its pace, together with what the built-in source tells of it.
// What changed beneath it is not named.
//
// The error is ErrNotAcknowledged, or why the listen has ended.
func (d *Sender) Updated(uri string) error { return d.mark(updated, uri) }

// ResourcesListChanged owes the client that notification, in the way of Updated.
func (d *Sender) ResourcesListChanged() error { return d.mark(resourcesList, "") }

// ToolsListChanged owes the client that notification, in the way of Updated.
func (d *Sender) ToolsListChanged() error { return d.mark(toolsList, "") }

// PromptsListChanged owes the client that notification, in the way of Updated.
func (d *Sender) PromptsListChanged() error { return d.mark(promptsList, "") }

func (d *Sender) mark(k kind, uri string) error {
	wake, err := d.s.tell(k, uri)
	if wake {
		d.s.carrier.Wake(d.s)
	}
	return err
}

// tell marks what a handler says has changed.
func (s *Stream) tell(k kind, uri string) (wake bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handled.cause != nil {
		return false, s.handled.cause
	}
	i := s.findKind(k, uri)
	if i < 0 {
		return false, notAcknowledged(k, uri)
	}
	wake = s.markLocked(i, "")
	if s.hub.changedMember != "" {
		s.nameLocked(i, tooMany) // a message that named what the source found would deny the rest
	}
	return wake, nil
}

func notAcknowledged(k kind, uri string) error {
	if k == updated {
		return fmt.Errorf("%s for %q: %w", methods[k], uri, ErrNotAcknowledged)
	}
	return fmt.Errorf("%s: %w", methods[k], ErrNotAcknowledged)
}

// Notify sends any other notification, such as one of an extension. params is encoded as JSON and must be an object, or
// nil; its _meta is kept, and gets the id of the subscription. That the client asked for such a notification is for the
// handler to see to. The changes that the specification names can be sent as well, to say more than the other methods do: an
// updated for a URI that was acknowledged, or beneath one, and a list_changed that was.
//
// Notify returns when the message has been handed out to the transport, after all changes that were due by then; so a
// handler is ahead of a slow client by no more than what it says at a time. If there is an error the message was not handed
// out and never will be. It is the cause of ctx, why the listen has ended, ErrNotAcknowledged, ErrNotHere for progress,
// message, cancelled and acknowledged, or says what is wrong with the message.
func (d *Sender) Notify(ctx context.Context, method string, params any) error {
	n, err := newNotification(d.s.id, method, params)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := d.s.post(n)
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
