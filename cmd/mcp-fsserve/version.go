package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// release is set by the linker in release builds.
var release string

// addVersionFlag takes the place of cobra's flag, whose words can be changed by a template only. Templates call methods by their
// names: the linker would have to keep those of all types, used or not, 2.5 MB of them.
func addVersionFlag(flags *pflag.FlagSet, asked *bool) {
	flags.BoolVarP(asked, "version", "v", false, "version for mcp-fsserve")
	flags.Lookup("version").Annotations = map[string][]string{cobra.FlagSetByCobraAnnotation: {"true"}} // nothing is completed after it
}

func printVersion(out io.Writer) error {
	_, err := fmt.Fprintln(out, "mcp-fsserve", version())
	return err
}

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
