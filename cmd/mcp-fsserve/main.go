// Command mcp-fsserve serves directories as MCP resources and tells each listener, within milliseconds, what changed.
//
// Standard output carries answers only: protocol frames when serving, lines or JSON otherwise. Everything said to
// people goes to standard error, in one voice: "mcp-fsserve: lower case, no full stop", with a hint on a line of its
// own when the reader can do something about it. The exit status is 0 after a clean end, which for what serves or
// listens SIGINT and SIGTERM are too, 1 after a failure, 2 after wrong usage.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that goes away must show as an error of the write, so that every stream can still be ended in order. The signal
	// is caught and not ignored: what this program starts would ignore it too, and go on for ever in yes | head.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	caught := make(chan os.Signal, 1) // never closed
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-caught
		signal.Stop(caught) // before anything shows that the end has begun: a second signal ends the process at once
		cancel()
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{args: args, stdin: stdin, stdout: &standardOutput{w: stdout}, stderr: deaf{stderr}, level: "warn", format: "text", settings: defaults()}
	root := p.command()
	root.SetArgs(append([]string{}, args...)) // never nil, which would mean os.Args
	root.SetIn(stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	return p.exit(root.ExecuteContext(ctx))
}
