// Command gosdk serves a directory with the official Go SDK, as its documentation has it: a resource for each file.
package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-fsserve/mcp-fsserve/bench/servers/served"
)

func main() { served.Main(serve) }

func serve(ctx context.Context, o served.Options) error {
	server, err := newServer(o.Dir)
	if err != nil {
		return err
	}
	go served.Watch(ctx, o.Dir, func(uri string) {
		_ = server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // never fails
	})
	if o.Addr == "" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	// The SDK serves revision 2026-07-28 over HTTP when it is stateless.
	return served.HTTP(ctx, o.Addr, "/mcp", mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
}

func newServer(dir string) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.0.0"}, &mcp.ServerOptions{
		PageSize:           1000,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	files, err := served.Files(dir)
	for _, f := range files {
		server.AddResource(&mcp.Resource{URI: f.URI, Name: f.Name, MIMEType: f.MIMEType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return read(f) })
	}
	return server, err
}

func read(f served.File) (*mcp.ReadResourceResult, error) {
	content, text, err := served.Read(f)
	if err != nil {
		return nil, err
	}
	answer := &mcp.ResourceContents{URI: f.URI, MIMEType: f.MIMEType}
	if text {
		answer.Text = string(content)
	} else {
		answer.Blob = content
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{answer}}, nil
}
