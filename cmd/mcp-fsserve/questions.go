package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// discover asks whether the server speaks the modern revision.
func (c *client) discover(ctx context.Context) error {
	var result struct{ SupportedVersions []string }
	if err := c.call(ctx, "server/discover", nil, &result); err != nil {
		return err
	}
	if !slices.Contains(result.SupportedVersions, mcp.Modern) {
		return fmt.Errorf("the server speaks %v, not %s", result.SupportedVersions, mcp.Modern)
	}
	return nil
}

// walk returns the URI of every resource, from all pages of the list.
func (c *client) walk(ctx context.Context) ([]string, error) {
	var uris []string
	params := map[string]any{}
	for {
		var page struct {
			Resources  []struct{ URI string }
			NextCursor string
		}
		if err := c.call(ctx, "resources/list", params, &page); err != nil {
			return nil, err
		}
		for _, r := range page.Resources {
			uris = append(uris, r.URI)
		}
		if page.NextCursor == "" {
			return uris, nil
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
}
