package client

import (
	"context"
	"sync"
)

// outbox sends, one after the other, what run wants to be sent: run itself must not wait for that.
type outbox struct {
	ctx  context.Context // ends with the session
	stop context.CancelFunc
	wake chan struct{} // 1-buffered, never closed

	mu   sync.Mutex // guards jobs
	jobs []func(context.Context)
}

func newOutbox() *outbox {
	o := &outbox{wake: make(chan struct{}, 1)}
	o.ctx, o.stop = context.WithCancel(context.Background())
	return o
}

func (o *outbox) add(job func(context.Context)) {
	o.mu.Lock()
	o.jobs = append(o.jobs, job)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) run() {
	for {
		o.mu.Lock()
		jobs := o.jobs
		o.jobs = nil
		o.mu.Unlock()
		for _, job := range jobs {
			if o.ctx.Err() != nil {
				return
			}
			job(o.ctx)
		}
		if len(jobs) > 0 {
			continue
		}
		select {
		case <-o.wake:
		case <-o.ctx.Done():
			return
		}
	}
}

func (o *outbox) close() { o.stop() }
