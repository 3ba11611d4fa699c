package transport

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"time"
)

// freeBody is how many bytes of a request are read without regard to others: nearly all requests are shorter.
const freeBody = 4 << 10

// readBody reads the request. What is longer than most is read only if there is memory for it, so that bodies that never
// end cost others nothing but room for such ones. On an error body is what was read, for an id that may be in it.
func (x *exchange) readBody() (body []byte, err error) {
	e, size := x.e, x.r.ContentLength
	if size > e.opts.MaxBody {
		if x.r.Header.Get("Expect") == "" {
			body = make([]byte, freeBody)
			n, _ := io.ReadFull(x.r.Body, body)
			body = body[:n]
		}
		return body, errTooLarge(e.opts.MaxBody)
	}
	first, longest := int64(freeBody), e.opts.MaxBody
	if size >= 0 {
		first, longest = min(size, freeBody), size
	}
	// One byte more than there may be, so that the end is seen.
	body, err = fill(x.r.Body, make([]byte, 0, min(first, 511)+1), first+1)
	if int64(len(body)) > first && first == freeBody && longest > freeBody {
		if !e.bodies.TryAcquire(longest) {
			return body, errBusy
		}
		x.room = longest
		body, err = fill(x.r.Body, body, longest+1)
	}
	switch {
	case int64(len(body)) > longest:
		err = errTooLarge(longest)
	case err == io.EOF:
		_ = x.rc.SetReadDeadline(time.Time{}) // from here on a read waits for the client to leave
		x.disarm()                            // and nothing is written before the work is done
		err = nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = refused(http.StatusRequestTimeout, "the body did not come in time")
	default:
		err = refused(http.StatusBadRequest, "the body ended early")
	}
	return body, err
}

// dropBody gives back the memory of the body. It is not needed once there is an answer, which may take long to send.
func (x *exchange) dropBody() {
	if x.room > 0 {
		x.e.bodies.Release(x.room)
		x.room = 0
	}
}

// fill reads on until there are so many bytes, or to the end.
func fill(in io.Reader, body []byte, limit int64) ([]byte, error) {
	for int64(len(body)) < limit {
		if len(body) == cap(body) {
			body = slices.Grow(body, int(min(limit-int64(len(body)), int64(len(body)))))
		}
		n, err := in.Read(body[len(body):min(int64(cap(body)), limit)])
		body = body[:len(body)+n]
		if err != nil {
			return body, err
		}
	}
	return body, nil
}

func errTooLarge(limit int64) error {
	return refused(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", limit)
}
