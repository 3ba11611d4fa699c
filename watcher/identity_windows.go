package watcher

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

func openFolder(path string, _ bool) (*os.File, error) { return os.Open(path) }

func identify(path string, _ fs.FileInfo) (identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return identity{}, err
	}
	defer f.Close()
	return identifyOpen(f, nil)
}

func identifyOpen(f *os.File, _ fs.FileInfo) (identity, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return identity{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identity{
		device: uint64(info.VolumeSerialNumber),
		inode:  uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow),
	}, nil
}
