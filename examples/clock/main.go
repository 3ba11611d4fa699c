// Command clock is the smallest whole server with correct listens: one resource that changes each second, with the official
// Go SDK, on standard input and output.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

const uri = "clock:///now"

func now(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: time.Now().Format(time.TimeOnly)}}}, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{Subscribe: true}},
	})
	server.AddResource(&mcp.Resource{URI: uri, Name: "now"}, now)
	hub := listen.NewHub(nil)
	go func() {
		for range time.Tick(time.Second) {
			hub.Publish(listen.Change{Keys: []string{uri}})
		}
	}()
	pipe := transport.NewInterceptor(&listen.Service{Hub: hub, Source: listen.URISource{}}, nil).Stdio(os.Stdin, os.Stdout)
	err := server.Run(context.Background(), &mcp.IOTransport{Reader: pipe.Reader(), Writer: pipe.Writer()})
	if err := errors.Join(err, pipe.Close()); err != nil {
		log.Fatal(err)
	}
}
