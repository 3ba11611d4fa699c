package main

import (
	"io"
	"log/slog"
	"os"
	"strings"
)

// greet tells who starts the server by hand that it does not hang, and what to run instead.
func greet(stdin io.Reader, all []place, log *slog.Logger) {
	if isTerminal(stdin) {
		quoted := passed(all)
		for i, arg := range quoted {
			quoted[i] = quoteArg(arg)
		}
		arg := strings.Join(quoted, " ")
		log.Warn("waiting for an MCP client on standard input, which looks like a terminal",
			hintKey, "to look around, end this with Ctrl-C and run: mcp-fsserve list "+arg+", or: mcp-fsserve listen "+arg)
	}
}

// isTerminal reports whether r is a character device other than the null device, which is what hosts and service
// managers give to programs that have no input.
func isTerminal(r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	fi, err := file.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(fi, null)
}
