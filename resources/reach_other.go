//go:build !linux

package resources

import (
	"errors"
	"io/fs"
	"os"
)

const lookOnly = 0

func nativeReach() bool { return false }

func lstatIn(*os.File, string) (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

func openPlain(string, int) (*os.File, error) { return nil, errors.ErrUnsupported }

func openWhole(string, int) (*handle, error) { return nil, errors.ErrUnsupported }

func openIn(*handle, string, int) (*handle, error) { return nil, errors.ErrUnsupported }
