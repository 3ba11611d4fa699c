package client

import (
	"io"
	"net/http"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// Target is the server that a [Client] follows: a command, which is started anew for each connection, or a URL.
type Target struct {
	Command []string  // the program and its arguments
	Env     []string  // of the command, as in [os/exec.Cmd]; nil: that of this process
	Dir     string    // in which the command starts; empty: that of this process
	Stderr  io.Writer // takes what the command says on standard error; nil: nobody does. Two commands never write at once.

	URL        string       // of the endpoint of Streamable HTTP, if there is no command
	Header     http.Header  // sent with each request over HTTP
	Token      string       // sent with each request over HTTP, as "Authorization: Bearer"; empty: none
	HTTPClient *http.Client // nil: one without a timeout. One with a timeout ends every listen by it.
}

// Command is a server that is started as a command and spoken to over its standard input and output.
func Command(name string, args ...string) Target {
	return Target{Command: append([]string{name}, args...)}
}

// URL is a server that is spoken to over Streamable HTTP.
func URL(endpoint string) Target { return Target{URL: endpoint} }

func (t Target) wire() wire.Target {
	header := t.Header
	if t.Token != "" {
		if header = header.Clone(); header == nil {
			header = http.Header{}
		}
		header.Set("Authorization", "Bearer "+t.Token)
	}
	return wire.Target{Command: t.Command, Env: t.Env, Dir: t.Dir, Stderr: t.Stderr, URL: t.URL, Header: header, Client: t.HTTPClient}
}
