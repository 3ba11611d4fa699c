package interop

import (
	"context"
	"encoding/json"
	"log/slog"
	"os/exec"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is a client of github.com/modelcontextprotocol/go-sdk.
type goSDK struct {
	session *mcp.ClientSession
	watched []string
}

func openGoSDK(ctx context.Context, version string, at place, heard func(notice), log *slog.Logger) (client, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		Logger: log,
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			heard(notice{listChanged: true})
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			heard(notice{uri: r.Params.URI})
		},
	})
	session, err := c.Connect(ctx, goSDKCarrier(at), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	return &goSDK{session: session}, nil
}

func goSDKCarrier(at place) mcp.Transport {
	if at.url == "" {
		return &mcp.CommandTransport{Command: exec.Command(at.command[0], at.command[1:]...)}
	}
	return &mcp.StreamableClientTransport{Endpoint: at.url, HTTPClient: at.client()}
}

func (c *goSDK) version() string { return c.session.InitializeResult().ProtocolVersion }

func (c *goSDK) capabilities() any { return c.session.InitializeResult().Capabilities }

func (c *goSDK) list(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for r, err := range c.session.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		found[r.Name] = r.URI
	}
	return found, nil
}

func (c *goSDK) read(ctx context.Context, uri string) (contents, error) {
	result, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return contents{}, err
	}
	one, err := only(result.Contents)
	if err != nil {
		return contents{}, err
	}
	return contents{uri: one.URI, mimeType: one.MIMEType, text: one.Text, blob: one.Blob}, nil
}

func (c *goSDK) templates(ctx context.Context) ([]string, error) {
	var templates []string
	for template, err := range c.session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return nil, err
		}
		templates = append(templates, template.URITemplate)
	}
	return templates, nil
}

func (c *goSDK) complete(ctx context.Context, template, start string) ([]string, error) {
	result, err := c.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: template},
		Argument: mcp.CompleteParamsArgument{Name: "path", Value: start},
	})
	if err != nil {
		return nil, err
	}
	return result.Completion.Values, nil
}

func (c *goSDK) watch(ctx context.Context, uris ...string) error {
	for _, uri := range c.watched {
		if !slices.Contains(uris, uri) {
			if err := c.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
				return err
			}
		}
	}
	for _, uri := range uris {
		if !slices.Contains(c.watched, uri) {
			if err := c.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
				return err
			}
		}
	}
	c.watched = uris
	return nil
}

func (c *goSDK) close() error { return c.session.Close() }

// asJSON returns what a library has decoded in the protocol's own form.
func asJSON(v any) (map[string]any, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(encoded, &fields)
}
