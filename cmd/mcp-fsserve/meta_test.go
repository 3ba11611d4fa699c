package main

import "github.com/mcp-fsserve/mcp-fsserve/internal/mcp"

// requestMeta is what every modern request carries (basic/index, "_meta").
func requestMeta() map[string]any {
	return map[string]any{
		mcp.MetaProtocolVersion:    mcp.Modern,
		mcp.MetaClientInfo:         mcp.Implementation{Name: "test", Version: "0"},
		mcp.MetaClientCapabilities: struct{}{},
	}
}
