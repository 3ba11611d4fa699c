package watcher

import "errors"

// newNative fails for good: a directory that fsnotify watches keeps the one above from being renamed.
func newNative() (source, error) { return nil, errors.ErrUnsupported }
