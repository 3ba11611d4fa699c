package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker in release builds.
var release string

// version is the program's version, the toolchain's and the platform.
func version() string {
	return fmt.Sprintf("%s (%s, %s/%s)", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// programVersion is what the linker set, else what the module was fetched or checked out at.
func programVersion() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
