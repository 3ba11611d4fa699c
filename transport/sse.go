package transport

import (
	"errors"
	"net/http"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// bell is a carrier that wakes whoever waits for it. It has a buffer of 1 and is never closed.
type bell chan struct{}

// Wake implements [listen.Carrier].
func (b bell) Wake(*listen.Stream) { signal(b) }

// listen answers subscriptions/listen with a stream of events. The client ends it by closing it: "the closed response stream
// is the cancel" (basic/patterns/cancellation).
func (x *exchange) listen(r *request) {
	e := x.e
	if err := e.addListen(x.client); err != nil {
		x.refuse(r.id, err, true)
		return
	}
	defer func() {
		if !x.taken {
			e.dropListen(x.client)
		}
	}()
	k := e.sockets.newSocket()
	wake := k.bell
	stream, err := e.s.openListen(x.ctx.made(), r, k)
	if err != nil {
		x.refuse(r.id, err, true)
		return
	}
	defer func() {
		if !x.taken {
			stream.Cancel()
		}
	}()
	e.carry(x, stream)
	if x.awaitAcknowledged(r, stream, wake) && !x.takeOver(k, stream) {
		x.pump(stream, wake, nil)
	}
}

// awaitAcknowledged waits for what a handler makes of a listen, so that a refusal has a status of its own: it answers that. It
// waits no longer than any stream is silent: what is refused later is refused in the stream.
func (x *exchange) awaitAcknowledged(r *request, stream *listen.Stream, wake bell) bool {
	if stream.Pending() {
		limit := time.NewTimer(x.e.opts.Keepalive)
		defer limit.Stop()
		for late := false; !late && stream.Pending(); {
			select {
			case <-wake:
			case <-limit.C:
				late = true
			case <-x.ctx.Done():
				x.refuse(r.id, x.ctx.Err(), true)
				return false
			}
		}
	}
	err := stream.Refused()
	if err == nil {
		return true
	}
	frame := newFrame()
	defer recycle(frame)
	if answer, _ := stream.Next(*frame, time.Now()); answer != nil {
		*frame = answer
		x.answerError(answer, err, true)
	}
	return false
}

// keepalive is a comment, which "clients MUST ignore". The empty line is for those that cut a stream at such lines.
const keepalive = ":\n\n"

// pump sends what a stream hands out until it is over, the exchange ends, or the client takes no more. It begins with rest,
// and returns what it could not send. The first frames are made before the answer is begun.
func (x *exchange) pump(stream *listen.Stream, wake bell, rest []byte) (unsent []byte) {
	p := pump{x: x, wake: wake, timer: time.NewTimer(x.e.opts.Keepalive), said: time.Now()}
	defer p.timer.Stop()
	frame := newFrame()
	var next time.Time
	var over bool
	*frame, next, over = appendEvents(append(*frame, rest...), stream, time.Now())
	x.openEvents()
	for x.ctx.Err() == nil {
		if err := x.send(*frame); err != nil {
			if errors.Is(err, http.ErrNotSupported) {
				x.e.log.Error("stream cannot be sent: a handler around this one gave it a ResponseWriter with neither Flush nor Unwrap", "err", err)
			}
			x.e.log.Debug("stream is not taken", "client", x.client, "err", err)
			break
		}
		p.said = time.Now()
		for *frame = (*frame)[:0]; len(*frame) == 0 && x.ctx.Err() == nil; {
			recycle(frame) // an idle stream holds none
			if over {
				return nil
			}
			silent := p.await(next)
			frame = newFrame()
			if silent {
				*frame = append(*frame, keepalive...)
			}
			*frame, next, over = appendEvents(*frame, stream, time.Now())
		}
	}
	if len(*frame) == 0 {
		recycle(frame)
		return nil
	}
	return *frame
}

// pump is what one call of exchange.pump waits with.
type pump struct {
	x     *exchange
	wake  bell
	timer *time.Timer
	said  time.Time // when something was sent
}

// await waits until the stream may have something to say: when it is woken, or at next. silent says that nothing was said
// for so long that a comment is due.
func (p *pump) await(next time.Time) (silent bool) {
	comment := p.said.Add(p.x.e.opts.Keepalive)
	if next.IsZero() || comment.Before(next) {
		next = comment
	}
	p.timer.Reset(time.Until(next))
	select {
	case <-p.wake:
	case <-p.timer.C:
	case <-p.x.ctx.Done():
	}
	return !time.Now().Before(comment)
}

// appendEvents appends the frames that a stream hands out now, but not many times what one write is. The stream is to be
// asked again at next, which is now if there may be more, or when it is woken if that is zero. It is not if it is over.
func appendEvents(dst []byte, stream *listen.Stream, now time.Time) (_ []byte, next time.Time, over bool) {
	const head, tail = "data: ", "\n\n"
	for len(dst) < burst {
		frame, wait := stream.Next(append(dst, head...), now)
		switch {
		case frame != nil:
			dst = append(frame, tail...)
		case wait > 0:
			return dst, now.Add(wait), false
		default:
			return dst, time.Time{}, wait == listen.Over
		}
	}
	return dst, now, false
}

// openEvents begins the answer.
func (x *exchange) openEvents() {
	x.setEvents()
	_ = x.rc.SetReadDeadline(time.Time{})
	x.w.WriteHeader(http.StatusOK)
}

// setEvents sets the headers of a stream.
func (x *exchange) setEvents() {
	h := x.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // "servers SHOULD include" it: nginx would keep events back
	if x.r.ProtoMajor == 1 {
		// The last bytes are written when the handler is done, and need a deadline that no further request shares.
		h.Set("Connection", "close")
	}
}
