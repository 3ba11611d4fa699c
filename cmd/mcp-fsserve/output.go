package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// standardOutput is standard output. It remembers why it failed, since not all who write to it, such as what prints the help,
// pass that on.
type standardOutput struct {
	w io.Writer

	mu     sync.Mutex
	failed error // the first error of a write; guarded by mu
}

func (o *standardOutput) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.failed == nil {
			o.failed = err
		}
	}
	return n, err
}

// verdict puts a failed output before err, which comes of it. A reader, such as head, that has seen enough is no
// failure.
func (o *standardOutput) verdict(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	if o.failed == nil || errors.Is(o.failed, syscall.EPIPE) {
		return err
	}
	reason := o.failed
	if named := (*fs.PathError)(nil); errors.As(reason, &named) {
		reason = named.Err // the path is /dev/stdout, whatever stands behind it
	}
	return fmt.Errorf("output cannot be written: %w", reason)
}
