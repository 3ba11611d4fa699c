package watcher

import "golang.org/x/sys/unix"

// descriptors are what the directories that are watched, and the files in them, hold open.
var descriptors ration

// newNative takes half of the descriptors at most, as each directory and each file in it costs one.
func newNative() (source, error) {
	src, err := newFsnotify()
	if err != nil {
		return nil, err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return src, nil
	}
	descriptors.most(int(min(limit.Cur/2, 1<<30)))
	return newRationed(src, &descriptors), nil
}
