// Package examples has servers to copy from, and holds each against the rules of the protocol: see README.md.
//
// It is a module of its own, so that no library for MCP becomes a requirement of the program. Its tests build the servers
// and the program, and have mcp-fsserve verify put the listens of each to the test, with the interceptor and without.
package examples
