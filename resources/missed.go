package resources

import (
	"errors"
	"io/fs"
	"syscall"
)

// Missed is what Load left out because the disk did not show it.
type Missed struct {
	Dirs    int    // directories that cannot be listed
	Example string // path of the first of them below the root
	Reason  string // why that one cannot, without a path of the host
	Passing string // why something could not be looked at for now, such as a lack of file descriptors; "" if nothing was
}

// Missed tells what Load has left out. It is all once Load has returned, or List the last page.
func (r *Root) Missed() Missed {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.missed
}

// miss counts what Load cannot list or look at. What has gone is not missed.
func (r *Root) miss(rel string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.missed
	switch {
	case passing(err):
		m.Passing = reason(err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
	case m.Dirs == 0:
		m.Example, m.Reason = rel, reason(err)
		fallthrough
	default:
		m.Dirs++
	}
}
