package main

import (
	"errors"
	"fmt"
)

// A hinted error says what went wrong, and what the user can do about it.
type hinted struct {
	err   error
	hint  string // may be empty
	usage bool   // the command line was wrong
}

func (h *hinted) Error() string { return h.err.Error() }
func (h *hinted) Unwrap() error { return h.err }

func withHint(hint, format string, args ...any) error {
	return &hinted{err: fmt.Errorf(format, args...), hint: hint}
}

func usageError(hint, format string, args ...any) error {
	return &hinted{err: fmt.Errorf(format, args...), hint: hint, usage: true}
}

// exit says what err is, once, and chooses the exit status.
func (p *program) exit(err error) int {
	err = p.stdout.verdict(err)
	if err == nil {
		return 0
	}
	var h *hinted
	if errors.As(err, &h) && h.hint != "" {
		p.logger().Error(err.Error(), hintKey, h.hint)
	} else {
		p.logger().Error(err.Error())
	}
	if h != nil && h.usage {
		return 2
	}
	return 1
}
