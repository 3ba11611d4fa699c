package transport

import (
	"io"
	"sync"
)

// passage is what has passed and waits for the library to read it.
type passage struct {
	mu      sync.Mutex
	changed sync.Cond // any of what follows; its lock is mu
	waits   []byte    // what passed and has not yet been read from at on
	at      int
	err     error // what a read returns once all is read
	closed  bool  // nothing is added or read any more
}

// add waits while there is much to read. Its error is that of a closed pipe.
func (q *passage) add(p []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waits)-q.at >= readAhead && !q.closed {
		q.changed.Wait()
	}
	if q.closed {
		return io.ErrClosedPipe
	}
	if q.at > len(q.waits)/2 {
		q.waits = q.waits[:copy(q.waits, q.waits[q.at:])]
		q.at = 0
	}
	q.waits = append(q.waits, p...)
	q.changed.Broadcast()
	return nil
}

func (q *passage) read(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for q.at == len(q.waits) && q.err == nil && !q.closed {
		q.changed.Wait()
	}
	switch {
	case q.closed:
		return 0, io.ErrClosedPipe
	case q.at == len(q.waits):
		return 0, q.err
	}
	n := copy(p, q.waits[q.at:])
	q.at += n
	if q.at == len(q.waits) {
		q.at, q.waits = 0, q.waits[:0]
		if cap(q.waits) > keptBuffer {
			q.waits = nil
		}
	}
	q.changed.Broadcast()
	return n, nil
}

// end says that nothing more is added, for which err is the reason.
func (q *passage) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	q.changed.Broadcast()
}

// close says that nobody reads any more.
func (q *passage) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.waits, q.at = true, nil, 0
	q.changed.Broadcast()
}
