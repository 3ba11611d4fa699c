//go:build !linux

package watcher

import (
	"errors"

	"github.com/fsnotify/fsnotify"
)

// cookie is of Linux alone: elsewhere the events of one directory may overtake those of another.
type cookie struct{ path string }

func newCookie(*fsnotify.Watcher, *cookie) (*cookie, error) { return nil, errors.ErrUnsupported }

func (*cookie) mark() error  { return errors.ErrUnsupported }
func (*cookie) Close() error { return nil }
