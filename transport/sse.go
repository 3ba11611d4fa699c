package transport

import (
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
	defer e.dropListen(x.client)
	wake := make(bell, 1)
	stream, err := e.s.openListen(x.ctx, r, wake)
	if err != nil {
		x.refuse(r.id, err, true)
		return
	}
	defer stream.Cancel()
	e.carry(x, stream)
	x.pump(stream, wake, nil)
}

// keepalive is a comment, which "clients MUST ignore". The empty line is for those that cut a stream at such lines.
const keepalive = ":\n\n"

// pump sends what a stream hands out until it is over, the exchange ends, or the client takes no more. It begins with rest,
// and returns what it could not send. The first frames are made before the answer is begun.
func (x *exchange) pump(stream *listen.Stream, wake bell, rest []byte) (unsent []byte) {
	frame := newFrame()
	*frame = append(*frame, rest...)
	opened := false
	var timer *time.Timer
	var last time.Time // when something was sent
	for {
		var wait time.Duration
		*frame, wait = appendEvents(*frame, stream)
		if !opened {
			x.openEvents()
		}
		if x.ctx.Err() != nil {
			return *frame
		}
		if len(*frame) > 0 || !opened {
			opened = true
			if err := x.send(*frame); err != nil {
				x.e.log.Debug("stream is not taken", "client", x.client, "err", err)
				return *frame
			}
			last = time.Now()
			*frame = (*frame)[:0]
			continue
		}
		if wait == listen.Over {
			recycle(frame)
			return nil
		}
		recycle(frame)
		due := last.Add(x.e.opts.Keepalive)
		pause := time.Until(due)
		if wait > 0 && wait < pause {
			pause = wait
		}
		if timer == nil {
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-wake:
		case <-timer.C:
		case <-x.ctx.Done():
		}
		frame = newFrame()
		if x.ctx.Err() == nil && !time.Now().Before(due) {
			*frame = append(*frame, keepalive...)
		}
	}
}

// appendEvents appends the frames that a stream hands out now, but not many times what one write is. wait is what the stream
// said last, 0 after a frame.
func appendEvents(dst []byte, stream *listen.Stream) (_ []byte, wait time.Duration) {
	const head, tail = "data: ", "\n\n"
	now := time.Now()
	for len(dst) < burst {
		frame, wait := stream.Next(append(dst, head...), now)
		if frame == nil {
			return dst, wait
		}
		dst = append(frame, tail...)
	}
	return dst, 0
}

// openEvents begins the answer.
func (x *exchange) openEvents() {
	h := x.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // "servers SHOULD include" it: nginx would keep events back
	if x.r.ProtoMajor == 1 {
		// The last bytes are written when the handler is done, and need a deadline that no further request shares.
		h.Set("Connection", "close")
	}
	_ = x.rc.SetReadDeadline(time.Time{})
	x.w.WriteHeader(http.StatusOK)
}
