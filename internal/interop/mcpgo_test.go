package interop

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	library "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo is a client of github.com/mark3labs/mcp-go.
type mcpGo struct {
	*library.Client
	log     *slog.Logger
	watched []string
	stop    func() // ends the listen, if one is open
}

func openMCPGo(ctx context.Context, version string, at place, heard func(notice), log *slog.Logger) (client, error) {
	carrier, err := mcpGoCarrier(version, at, log)
	if err != nil {
		return nil, err
	}
	c := &mcpGo{Client: library.NewClient(carrier), log: log, stop: func() {}}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case "notifications/resources/list_changed":
			heard(notice{listChanged: true})
		case "notifications/resources/updated":
			uri, _ := n.Params.AdditionalFields["uri"].(string)
			heard(notice{uri: uri})
		}
	})
	if err := c.Start(context.WithoutCancel(ctx)); err != nil { // its end kills the process
		return nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = version
	request.Params.ClientInfo = mcp.Implementation{Name: "interop", Version: "1"}
	if _, err := c.Initialize(ctx, request); err != nil {
		return nil, errors.Join(err, c.close())
	}
	// What is on the list is told without asking before the 2026-07-28 revision.
	return c, c.watch(ctx)
}

func mcpGoCarrier(version string, at place, log *slog.Logger) (transport.Interface, error) {
	if at.url == "" {
		return transport.NewStdioWithOptions(at.command[0], nil, at.command[1:], transport.WithCommandLogger(log)), nil
	}
	// The header is not left to WithHTTPHeaders, which does not send it when it ends a session.
	options := []transport.StreamableHTTPCOption{transport.WithHTTPLogger(log), transport.WithHTTPBasicClient(at.client())}
	if !mcp.IsModernProtocol(version) {
		//lint:ignore SA1019 the older revisions have no other way
		options = append(options, transport.WithContinuousListening())
	}
	return transport.NewStreamableHTTP(at.url, options...)
}

func (c *mcpGo) version() string { return c.ProtocolVersion() }

func (c *mcpGo) capabilities() any { return c.GetServerCapabilities() }

func (c *mcpGo) list(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for r, err := range c.IterResources(ctx, mcp.ListResourcesRequest{}) {
		if err != nil {
			return nil, err
		}
		found[r.Name] = r.URI
	}
	return found, nil
}

func (c *mcpGo) read(ctx context.Context, uri string) (contents, error) {
	var request mcp.ReadResourceRequest
	request.Params.URI = uri
	result, err := c.ReadResource(ctx, request)
	if err != nil {
		return contents{}, err
	}
	one, err := only(result.Contents)
	if err != nil {
		return contents{}, err
	}
	switch one := one.(type) {
	case mcp.TextResourceContents:
		return contents{uri: one.URI, mimeType: one.MIMEType, text: one.Text}, nil
	case mcp.BlobResourceContents:
		blob, err := base64.StdEncoding.DecodeString(one.Blob)
		return contents{uri: one.URI, mimeType: one.MIMEType, blob: blob}, err
	default:
		return contents{}, fmt.Errorf("contents are a %T", one)
	}
}

func (c *mcpGo) templates(ctx context.Context) ([]string, error) {
	var templates []string
	for template, err := range c.IterResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{}) {
		if err != nil {
			return nil, err
		}
		templates = append(templates, template.URITemplate.Raw())
	}
	return templates, nil
}

func (c *mcpGo) complete(ctx context.Context, template, start string) ([]string, error) {
	var request mcp.CompleteRequest
	request.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: template}
	request.Params.Argument = mcp.CompleteArgument{Name: "path", Value: start}
	result, err := c.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	return result.Completion.Values, nil
}

func (c *mcpGo) watch(ctx context.Context, uris ...string) error {
	if mcp.IsModernProtocol(c.ProtocolVersion()) {
		return c.listen(ctx, uris)
	}
	for _, uri := range c.watched {
		if !slices.Contains(uris, uri) {
			var request mcp.UnsubscribeRequest
			request.Params.URI = uri
			//lint:ignore SA1019 the older revisions have no other way
			if err := c.Unsubscribe(ctx, request); err != nil {
				return err
			}
		}
	}
	for _, uri := range uris {
		if !slices.Contains(c.watched, uri) {
			var request mcp.SubscribeRequest
			request.Params.URI = uri
			//lint:ignore SA1019 the older revisions have no other way
			if err := c.Subscribe(ctx, request); err != nil {
				return err
			}
		}
	}
	c.watched = uris
	return nil
}

// listen replaces the listen that is open by one for the list and these URIs.
func (c *mcpGo) listen(ctx context.Context, uris []string) error {
	c.stop()
	stop, err := c.ListenAsync(ctx, mcp.SubscriptionFilter{ResourcesListChanged: true, ResourceSubscriptions: uris},
		func(err error) { c.log.Error("the listen has ended", "error", err) })
	if err == nil {
		c.stop = stop
	}
	return err
}

func (c *mcpGo) close() error {
	c.stop()
	return c.Client.Close()
}
