// Package client keeps a subscription to an MCP server alive: it connects, listens, and tells what changed, whatever
// becomes of the server and of the way to it.
package client
