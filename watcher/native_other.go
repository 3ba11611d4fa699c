//go:build !windows && !darwin

package watcher

func newNative() (source, error) { return newFsnotify() }
