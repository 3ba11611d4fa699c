// Command loop serves the files of a directory on standard input and output from a single goroutine: what a server that is written
// in Go cannot be much faster than where one answer is awaited after the other.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/bench/servers/served"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		URI string `json:"uri"`
	} `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type content struct {
	URI  string `json:"uri"`
	Text string `json:"text"`
}

func main() {
	served.Main(func(_ context.Context, o served.Options) error {
		if o.Addr != "" {
			return errors.New("a loop has standard input and output alone: give no -http")
		}
		return serve(o.Dir, bufio.NewReaderSize(os.Stdin, 64<<10), json.NewEncoder(os.Stdout))
	})
}

// serve answers one request after the other until the input ends.
func serve(dir string, in *bufio.Reader, out *json.Encoder) error {
	out.SetEscapeHTML(false)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		result, err := answer(dir, &asked)
		if err != nil {
			return err
		}
		if err := out.Encode(response{"2.0", asked.ID, result}); err != nil {
			return err
		}
	}
}

func answer(dir string, asked *request) (any, error) {
	switch asked.Method {
	case "server/discover":
		return map[string]any{
			"supportedVersions": []string{"2026-07-28"}, "capabilities": map[string]any{"resources": map[string]any{}},
			"serverInfo": map[string]any{"name": "loop", "version": "0"},
		}, nil
	case "resources/read":
		text, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(asked.Params.URI, served.Base)))
		return map[string]any{"contents": []content{{asked.Params.URI, string(text)}}}, err
	}
	return nil, fmt.Errorf("a loop does not serve %s", asked.Method)
}
