package mcp

// Modern is the revision whose requests carry their own metadata (2026-07-28, basic/versioning, "Terminology").
const Modern = "2026-07-28"

// Legacy revisions open with an initialize handshake.
const (
	Legacy20251125 = "2025-11-25"
	Legacy20250618 = "2025-06-18"
	Legacy20250326 = "2025-03-26"
	Legacy20241105 = "2024-11-05"
)

// LegacyVersions lists the revisions initialize can negotiate, newest first.
func LegacyVersions() []string {
	return []string{Legacy20251125, Legacy20250618, Legacy20250326, Legacy20241105}
}

// SupportedVersions lists every revision served, preferred first.
func SupportedVersions() []string { return append([]string{Modern}, LegacyVersions()...) }

// Reserved keys of _meta (basic/index, "_meta").
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
)

// Error codes that MCP adds to those of JSON-RPC (basic/index, "Error Codes").
const (
	HeaderMismatch             = -32020
	UnsupportedProtocolVersion = -32022
	LegacyResourceNotFound     = -32002 // 2025-11-25 and earlier only
)
