package client

import (
	"context"
	"sync"
	"time"
)

// outbox sends, one after the other, what run wants to be sent: run itself must not wait for that. The server may take no
// longer than within for each of it, or what follows would never be sent.
type outbox struct {
	within time.Duration

	ctx  context.Context // ends with the session
	stop context.CancelFunc
	wake chan struct{} // 1-buffered, never closed

	mu   sync.Mutex // guards jobs
	jobs []func(context.Context)
}

func newOutbox(within time.Duration) *outbox {
	o := &outbox{within: within, wake: make(chan struct{}, 1)}
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
			o.do(job)
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

func (o *outbox) do(job func(context.Context)) {
	ctx, stop := context.WithTimeout(o.ctx, o.within)
	defer stop()
	job(ctx)
}

func (o *outbox) close() { o.stop() }
