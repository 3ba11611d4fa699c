// Package wire carries JSON-RPC messages to an MCP server that somebody else runs, and what it says back: over the pipes of
// a command, or over Streamable HTTP.
//
// It knows the framing and the headers of the protocol, and nothing of what the messages mean beyond that: whoever dials
// makes the messages and takes the answers. A [Conn] hands over what arrives in the order of arrival, for each request
// over HTTP and for the whole of a pipe.
//
// Blocking. The receiver is called by one goroutine at a time and must not block: nothing else arrives meanwhile.
// [Conn.Send] waits until the message is handed to the pipe or, over HTTP, until the request is on its way, and no longer
// than its context. Nothing waits for an answer.
//
// Goroutines. A Conn has some of its own; [Conn.Close] waits for them, and for the command.
package wire
