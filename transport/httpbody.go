package transport

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// freeBody is how many bytes of a request are read without regard to others: nearly all requests are shorter.
const freeBody = 4 << 10

// bodyRoom is the memory in bytes for the requests that are not small. What has come is counted and not what is claimed,
// which costs a client nothing.
type bodyRoom struct {
	size int64 // of all
	part int64 // the most of it that one client may have

	mu   sync.Mutex
	used int64
	held map[string]int64 // by client, above 0
}

func newBodyRoom(size int64) *bodyRoom {
	return &bodyRoom{size: size, part: size / 4, held: map[string]int64{}}
}

// take gives a client n more bytes, which give takes back.
func (b *bodyRoom) take(client string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.held[client]+n > b.part:
		return errClientBodies
	case b.used+n > b.size:
		return errBodies
	}
	b.used += n
	b.held[client] += n
	return nil
}

func (b *bodyRoom) give(client string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.held[client] -= n; b.held[client] == 0 {
		delete(b.held, client)
	}
}

// readBody reads the request. On an error body is what was read, for an id that may be in it.
func (x *exchange) readBody() (body []byte, err error) {
	size, longest := x.r.ContentLength, x.e.opts.MaxBody
	if size > longest {
		if x.r.Header.Get("Expect") == "" {
			body = make([]byte, freeBody)
			n, _ := io.ReadFull(x.r.Body, body)
			body = body[:n]
		}
		return body, errTooLarge(longest)
	}
	if size >= 0 {
		longest = size
	}
	// One byte more than there may be, so that the end is seen.
	body, err = x.fill(make([]byte, 0, min(longest, 511)+1), longest+1)
	switch {
	case int64(len(body)) > longest:
		err = errTooLarge(longest)
	case err == io.EOF:
		_ = x.rc.SetReadDeadline(time.Time{}) // from here on a read waits for the client to leave
		x.disarm()                            // and nothing is written before the work is done
		err = nil
	case err == errBodies, err == errClientBodies:
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = refused(http.StatusRequestTimeout, "the body did not come in time")
	default:
		err = refused(http.StatusBadRequest, "the body ended early")
	}
	return body, err
}

// fill reads on until there are so many bytes, or to the end, as long as there is memory for what comes: bodies that never
// end cost others nothing but room for such ones.
func (x *exchange) fill(body []byte, limit int64) ([]byte, error) {
	for int64(len(body)) < limit {
		if len(body) == cap(body) {
			larger := grown(int64(cap(body)), limit)
			if err := x.hold(larger); err != nil {
				return body, err
			}
			body = append(make([]byte, 0, larger), body...)
		}
		n, err := x.r.Body.Read(body[len(body):min(int64(cap(body)), limit)])
		body = body[:len(body)+n]
		if err != nil {
			return body, err
		}
	}
	return body, nil
}

// grown is the next size of a buffer. One of them is that of the longest body that is free, with the end of it.
func grown(size, limit int64) int64 {
	if size < freeBody && 2*size >= freeBody {
		return min(freeBody+1, limit)
	}
	return min(2*size, limit)
}

// hold counts a buffer of so many bytes, instead of the one before.
func (x *exchange) hold(size int64) error {
	if size <= freeBody+1 {
		return nil
	}
	if err := x.e.bodies.take(x.client, size-x.room); err != nil {
		return err
	}
	x.room = size
	return nil
}

// dropBody gives back the memory of the body. It is not needed once there is an answer, which may take long to send.
func (x *exchange) dropBody() {
	if x.room > 0 {
		x.e.bodies.give(x.client, x.room)
		x.room = 0
	}
}

func errTooLarge(limit int64) error {
	return refused(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", limit)
}
