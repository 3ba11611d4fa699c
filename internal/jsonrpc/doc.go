// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope as MCP restricts it: one message at a time, ids that are
// strings or integers and are echoed byte for byte, params that are objects.
//
// It knows no method and no transport. Nothing in it blocks or keeps state; all functions may be called from any
// goroutine. Slices in a [Message] alias the parsed input.
package jsonrpc
