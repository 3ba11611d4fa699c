package main

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// failing is a writer whose every write fails in the same way.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestFailedOutputIsTheVerdict(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	gone := &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	other := errors.New("interrupted")
	for name, test := range map[string]struct {
		write, err error
		want       string // "" for nil
	}{
		"all is well":                        {nil, nil, ""},
		"another failure":                    {nil, other, "interrupted"},
		"full, and nobody says so":           {full, nil, "output cannot be written: " + syscall.ENOSPC.Error()},
		"full, which another error comes of": {full, other, "output cannot be written: " + syscall.ENOSPC.Error()},
		"the reader is gone":                 {gone, gone, ""},
		"gone, and nobody says so":           {gone, nil, ""},
		"gone, and another failure":          {gone, other, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &standardOutput{w: failing{test.write}}
			if _, err := o.Write([]byte("x")); err != test.write {
				t.Errorf("write: %v", err)
			}
			err := o.verdict(test.err)
			if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
				t.Errorf("verdict: %v, want %q", err, test.want)
			}
		})
	}
}
