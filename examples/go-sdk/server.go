package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-fsserve/mcp-fsserve/examples/outcomes"
	"github.com/mcp-fsserve/mcp-fsserve/examples/queue"
)

// newServer makes a server as the SDK would have it without an interceptor. That it takes subscriptions, by having these
// handlers, is what tells clients of either era that there are any.
func newServer(jobs *queue.Queue) *mcp.Server {
	capabilities := &mcp.ServerCapabilities{}
	capabilities.AddExtension(outcomes.Member, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk-queue", Version: "1.0.0"}, &mcp.ServerOptions{
		Capabilities:       capabilities,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, uri := range jobs.URIs() {
		addResource(server, jobs, uri)
	}
	return server
}

func addResource(server *mcp.Server, jobs *queue.Queue, uri string) {
	const mimeType = "application/json"
	read := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, found := jobs.Read(uri)
		if !found {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mimeType, Text: text}}}, nil
	}
	server.AddResource(&mcp.Resource{URI: uri, Name: uri, MIMEType: mimeType}, read)
}
