package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peer is a server that is measured.
type peer struct {
	name    string
	version string
	ours    bool
	files   bool     // it is a plain file server: it has no protocol, and no standard input
	lists   bool     // its listens are told of changes of the list alone, which it announces for each change of a file
	stdio   []string // its command line before the directory, on standard input and output; none for a file server
	http    []string // the same over HTTP
}

// The limits: a server that has the kernel send files, and one that reads and writes them, as one must that puts them into
// JSON.
const (
	fileServer   = "http.FileServer"
	fileServerRW = "the same, read and written"
)

// oursFlags make the product serve what the others serve: the same URIs, as large a page, files as large, and as many listens
// of one address.
var oursFlags = []string{"--uri-base", uriBase, "--page-size", "1000", "--max-size", "128M", "--log-level", "info"}

var oursHTTPFlags = []string{"--http", "127.0.0.1:0", "--max-listens-per-client", "65536"}

func ours(name, binary string) peer {
	p := peer{name: name, ours: true, stdio: append([]string{binary}, oursFlags...)}
	p.http = append(append([]string{}, p.stdio...), oursHTTPFlags...)
	p.version = "of this tree"
	if out, err := exec.Command(binary, "--version").Output(); err == nil {
		p.version = strings.TrimSpace(string(out))
	}
	return p
}

// wanted is the choice of servers on the command line.
type wanted struct {
	ours    string // NAME=PATH,... of built programs, or "" to build this tree's
	servers string // names of others, separated by commas; "all" or "none"
}

var errUnknownServer = errors.New("no such server")

// preparePeers builds what is wanted into the directory bin, and says what is left out and why.
func preparePeers(ctx context.Context, bin string, w wanted) (peers []peer, leftOut []string, err error) {
	if w.ours == "" {
		w.ours = "mcp-fsserve=" + filepath.Join(bin, "mcp-fsserve")
		if err := build(ctx, "..", bin, "./cmd/mcp-fsserve"); err != nil {
			return nil, nil, err
		}
	}
	for _, one := range strings.Split(w.ours, ",") {
		name, path, named := strings.Cut(one, "=")
		if !named {
			name, path = "mcp-fsserve", one
		}
		if !exists(path) {
			return nil, nil, fmt.Errorf("-ours: there is no program %s", path)
		}
		peers = append(peers, ours(name, path))
	}

	others := map[string]func() (peer, error){
		"go-sdk": func() (peer, error) {
			return goPeer(ctx, bin, "go-sdk", "gosdk", "github.com/modelcontextprotocol/go-sdk")
		},
		"mcp-go": func() (peer, error) {
			p, err := goPeer(ctx, bin, "mcp-go", "mcpgo", "github.com/mark3labs/mcp-go")
			p.lists = true
			return p, err
		},
		"typescript": typescriptPeer,
		"files": func() (peer, error) {
			p, err := goPeer(ctx, bin, fileServer, "fileserver", "")
			p.files, p.stdio = true, nil
			return p, err
		},
		"copied": func() (peer, error) {
			p, err := goPeer(ctx, bin, fileServerRW, "fileserver", "")
			p.files, p.stdio, p.http = true, nil, append(p.http, "-copied")
			return p, err
		},
	}
	order := []string{"go-sdk", "mcp-go", "typescript", "files", "copied"}
	names := order
	switch w.servers {
	case "all":
	case "none":
		names = nil
	default:
		names = strings.Split(w.servers, ",")
	}
	for _, name := range names {
		prepare, known := others[name]
		if !known {
			return nil, nil, fmt.Errorf("-servers: %w %q: there are %s, all and none", errUnknownServer, name, strings.Join(order, ", "))
		}
		p, err := prepare()
		switch {
		case errors.Is(err, errLeftOut):
			leftOut = append(leftOut, brief(err))
		case err != nil:
			return nil, nil, err
		default:
			peers = append(peers, p)
		}
	}
	return peers, leftOut, nil
}

// errLeftOut is for a server that cannot be had on this machine.
var errLeftOut = errors.New("left out")

func build(ctx context.Context, dir, bin, pkg string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", bin+string(filepath.Separator), pkg)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", pkg, err, out)
	}
	return nil
}

// goPeer is one of servers/, with the library of a module.
func goPeer(ctx context.Context, bin, name, program, module string) (peer, error) {
	if err := build(ctx, ".", bin, "./servers/"+program); err != nil {
		return peer{}, err
	}
	path := filepath.Join(bin, program)
	p := peer{name: name, stdio: []string{path}, http: []string{path, "-http", "127.0.0.1:0"}}
	if module != "" {
		out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module).Output()
		if err != nil {
			return peer{}, fmt.Errorf("version of %s: %w", module, err)
		}
		p.version = strings.TrimSpace(string(out))
	}
	return p, nil
}

// typescriptPeer is that of servers/typescript, if run has installed its modules.
func typescriptPeer() (peer, error) {
	const dir = "servers/typescript"
	node, err := exec.LookPath("node")
	if err != nil {
		return peer{}, fmt.Errorf("typescript %w: there is no node", errLeftOut)
	}
	if !exists(filepath.Join(dir, "node_modules")) {
		return peer{}, fmt.Errorf("typescript %w: its modules are not installed (bench/run does that)", errLeftOut)
	}
	about, err := os.ReadFile(filepath.Join(dir, "node_modules/@modelcontextprotocol/server/package.json"))
	if err != nil {
		return peer{}, err
	}
	var sdk struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(about, &sdk); err != nil {
		return peer{}, fmt.Errorf("version of the TypeScript SDK: %w", err)
	}
	script, err := filepath.Abs(filepath.Join(dir, "server.js"))
	if err != nil {
		return peer{}, err
	}
	return peer{name: "typescript", version: sdk.Version,
		stdio: []string{node, script}, http: []string{node, script, "-http", "127.0.0.1:0"}}, nil
}

// temporary makes a directory, which the end of the command removes.
func temporary() (string, func(), error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return "", nil, err
	}
	// A link on the way would make the server's paths other than those that are written to.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
