// Package verify holds the listens of any MCP server against the rules of revision 2026-07-28.
package verify
