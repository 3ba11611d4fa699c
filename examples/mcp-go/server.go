package main

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-fsserve/mcp-fsserve/examples/outcomes"
	"github.com/mcp-fsserve/mcp-fsserve/examples/queue"
)

// newServer makes a server as mcp-go would have it without an interceptor. The capabilities tell clients of either era that
// there are subscriptions, and that the list tells of changes.
func newServer(jobs *queue.Queue) *server.MCPServer {
	s := server.NewMCPServer("mcp-go-queue", "1.0.0",
		server.WithResourceCapabilities(true, true),
		server.WithExtensions(map[string]any{outcomes.Member: map[string]any{}}))
	for _, uri := range jobs.URIs() {
		s.AddResources(newResource(jobs, uri))
	}
	return s
}

func newResource(jobs *queue.Queue, uri string) server.ServerResource {
	const mimeType = "application/json"
	return server.ServerResource{
		Resource: mcp.NewResource(uri, uri, mcp.WithMIMEType(mimeType)),
		Handler: func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			text, found := jobs.Read(uri)
			if !found { // ended a moment ago
				return nil, server.ErrResourceNotFound
			}
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text}}, nil
		},
	}
}
