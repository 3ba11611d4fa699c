//go:build !linux && !darwin && !windows

package resources

import "io/fs"

func (s *stat) fill(fs.FileInfo, *reader) {}
