// Command fileserver serves a directory with http.FileServer: what a server written in Go cannot be much faster than.
package main

import (
	"context"
	"errors"
	"flag"
	"net/http"

	"github.com/mcp-fsserve/mcp-fsserve/bench/servers/served"
)

// copied has the server write what it reads, as one must that changes it on the way, where the kernel could send the file.
var copied = flag.Bool("copied", false, "read files and write them, instead of having the kernel send them")

func main() {
	served.Main(func(ctx context.Context, o served.Options) error {
		if o.Addr == "" {
			return errors.New("a file server has no standard input: give -http ADDR")
		}
		files := http.FileServer(http.Dir(o.Dir))
		if !*copied {
			return served.HTTP(ctx, o.Addr, "/", files)
		}
		return served.HTTP(ctx, o.Addr, "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			files.ServeHTTP(writer{w}, r)
		}))
	})
}

// writer hides that what is behind it can take a file.
type writer struct{ http.ResponseWriter }
