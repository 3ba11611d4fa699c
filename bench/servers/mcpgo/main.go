// Command mcpgo serves a directory with mark3labs/mcp-go, as its documentation has it: a resource for each file.
package main

import (
	"context"
	"encoding/base64"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-fsserve/mcp-fsserve/bench/servers/served"
)

func main() { served.Main(serve) }

func serve(ctx context.Context, o served.Options) error {
	s, err := newServer(o.Dir)
	if err != nil {
		return err
	}
	go served.Watch(ctx, o.Dir, func(uri string) {
		s.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
		// Its listens are never told of updates, only of lists, so that one of those is sent for each change, to have what is
		// nearest to it measured.
		s.SendNotificationToAllClients(mcp.MethodNotificationResourcesListChanged, nil)
	})
	if o.Addr == "" {
		return server.NewStdioServer(s).Listen(ctx, os.Stdin, os.Stdout)
	}
	return served.HTTP(ctx, o.Addr, "/mcp", server.NewStreamableHTTPServer(s))
}

func newServer(dir string) (*server.MCPServer, error) {
	s := server.NewMCPServer("mcp-go", "1.0.0", server.WithResourceCapabilities(true, true), server.WithPaginationLimit(1000))
	files, err := served.Files(dir)
	for _, f := range files {
		s.AddResource(mcp.NewResource(f.URI, f.Name, mcp.WithMIMEType(f.MIMEType)),
			func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) { return read(f) })
	}
	return s, err
}

func read(f served.File) ([]mcp.ResourceContents, error) {
	content, text, err := served.Read(f)
	if err != nil {
		return nil, err
	}
	if text {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: f.URI, MIMEType: f.MIMEType, Text: string(content)}}, nil
	}
	return []mcp.ResourceContents{mcp.BlobResourceContents{
		URI: f.URI, MIMEType: f.MIMEType, Blob: base64.StdEncoding.EncodeToString(content)}}, nil
}
