//go:build !linux

package resources

import "os"

// entriesIn lists the first n entries of an open directory, or all for n < 0.
func entriesIn(dir *os.File, n int) ([]entry, error) { return entriesSlowly(dir, n) }
