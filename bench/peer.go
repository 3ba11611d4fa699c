package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// peer is a server that is measured.
type peer struct {
	name    string
	version string
	ours    bool
	files   bool     // it is a plain file server: it has no protocol, and no standard input
	loop    bool     // it has standard input and output alone, and answers no more than server/discover and reads
	lists   bool     // its listens are told of changes of the list alone, which it announces for each change of a file
	stdio   []string // its command line before the directory, on standard input and output; none for a file server
	http    []string // the same over HTTP; none for a loop
}

// The limits: a server that has the kernel send files, one that reads and writes them, as one must that puts them into JSON, and
// on pipes one that does a single thing at a time.
const (
	fileServer   = "http.FileServer"
	fileServerRW = "the same, read and written"
	plainLoop    = "a loop"
)

// oursFlags make the product serve what the others serve: the same URIs, as large a page, files as large, and as many listens
// of one address.
var oursFlags = []string{"--uri-base", uriBase, "--page-size", "1000", "--max-size", "128M", "--log-level", "info"}

var oursHTTPFlags = []string{"--http", "127.0.0.1:0", "--max-listens-per-client", "65536"}

// ours is a built program, which must be this one.
func ours(ctx context.Context, name, binary string) (peer, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return peer{}, err
	}
	p := peer{name: name, ours: true, stdio: append([]string{binary}, oursFlags...)}
	p.http = append(slices.Clone(p.stdio), oursHTTPFlags...)
	out, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return peer{}, fmt.Errorf("-ours: %s does not say its version: %w", binary, err)
	}
	version, known := strings.CutPrefix(strings.TrimSpace(string(out)), "mcp-fsserve ")
	if !known {
		return peer{}, fmt.Errorf("-ours: %s says that it is %.100q", binary, out)
	}
	p.version = version
	return p, nil
}

// named is a server with its version, where it has one of its own.
func (p peer) named() string { return strings.TrimSpace(p.name + " " + p.version) }

// wanted is the choice of servers on the command line.
type wanted struct {
	ours    string // NAME=PATH,... of built programs, or "" to build this tree's
	servers string // names of others, separated by commas; "all" or "none"
	source  string // the directory of this command's source, in which those of the servers are
}

// otherNames are what the servers of others are called on the command line.
var otherNames = []string{"go-sdk", "mcp-go", "typescript", "files", "copied", "loop"}

// unbuilt is what is known of one of the others before it is built.
func unbuilt(name string) peer {
	return peer{name: name, files: name == "files" || name == "copied", loop: name == "loop"}
}

// others returns the names of the servers that are wanted besides ours, and of which something is measured. One that is asked
// for by its name must be one of those.
func (w wanted) others(m measures) ([]string, error) {
	unmeasured := func(name string) bool { return !m.takenOf(unbuilt(name)) }
	switch w.servers {
	case "all":
		return slices.DeleteFunc(slices.Clone(otherNames), unmeasured), nil
	case "none":
		return nil, nil
	}
	var names []string
	for _, name := range strings.Split(w.servers, ",") {
		if !slices.Contains(otherNames, name) {
			return nil, fmt.Errorf("-servers: no such server %q: there are %s, all and none", name, strings.Join(otherNames, ", "))
		}
		if unmeasured(name) {
			return nil, fmt.Errorf("-servers: of %s nothing is measured that -only names", name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// preparePeers builds what is wanted, and measured, into the directory bin, and says what of all is left out and why. What is asked
// for by its name is not left out.
func preparePeers(ctx context.Context, bin string, w wanted, m measures) (peers []peer, leftOut []string, err error) {
	others, err := w.others(m)
	if err != nil {
		return nil, nil, err
	}
	if peers, err = w.builds(ctx, bin); err != nil {
		return nil, nil, err
	}
	for _, name := range others {
		p, err := w.prepare(ctx, bin, name)
		switch {
		case errors.Is(err, errLeftOut) && w.servers == "all":
			leftOut = append(leftOut, brief(err))
		case err != nil:
			return nil, nil, err
		default:
			peers = append(peers, p)
		}
	}
	names := map[string]bool{}
	for _, p := range peers {
		if names[p.name] {
			return nil, nil, fmt.Errorf("-ours: there are two servers %s", p.name)
		}
		names[p.name] = true
	}
	return peers, leftOut, nil
}

// builds are the programs of ours that are wanted.
func (w wanted) builds(ctx context.Context, bin string) (peers []peer, err error) {
	if w.ours == "" {
		w.ours = filepath.Join(bin, "mcp-fsserve")
		if err := build(ctx, filepath.Join(w.source, ".."), bin, "./cmd/mcp-fsserve"); err != nil {
			return nil, err
		}
	}
	for _, one := range strings.Split(w.ours, ",") {
		name, path, named := strings.Cut(one, "=")
		if !named {
			name, path = "mcp-fsserve", one
		}
		if info, err := os.Stat(path); name == "" || err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("-ours: there is no program %s", one)
		}
		p, err := ours(ctx, name, path)
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// prepare builds a server of others.
func (w wanted) prepare(ctx context.Context, bin, name string) (peer, error) {
	switch name {
	case "go-sdk":
		return w.goPeer(ctx, bin, name, "gosdk", "github.com/modelcontextprotocol/go-sdk")
	case "mcp-go":
		p, err := w.goPeer(ctx, bin, name, "mcpgo", "github.com/mark3labs/mcp-go")
		p.lists = true
		return p, err
	case "typescript":
		return typescriptPeer(ctx, filepath.Join(w.source, "servers/typescript"))
	case "files":
		p, err := w.goPeer(ctx, bin, fileServer, "fileserver", "")
		p.files, p.stdio = true, nil
		return p, err
	case "copied":
		p, err := w.goPeer(ctx, bin, fileServerRW, "fileserver", "")
		p.files, p.stdio, p.http = true, nil, append(p.http, "-copied")
		return p, err
	case "loop":
		p, err := w.goPeer(ctx, bin, plainLoop, "loop", "")
		p.loop, p.http = true, nil
		return p, err
	}
	panic("a server has a name, but nobody prepares it: " + name)
}

// errLeftOut is for a server that cannot be had on this machine.
var errLeftOut = errors.New("left out")

// build leaves nothing outside of bin, also if ctx ends.
func build(ctx context.Context, dir, bin, pkg string) error {
	command := interruptible(ctx, "go", "build", "-o", bin+string(filepath.Separator), pkg)
	command.Dir = dir
	command.Env = append(command.Environ(), "GOTMPDIR="+bin)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", pkg, err, out)
	}
	return nil
}

// interruptible is a command that is told when ctx ends, with all that it has started, and has some time then to tidy up. Told
// alone, a shell waits for what it runs, and go for its compilers.
func interruptible(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = endWithin
	return command
}

// goPeer is one of servers/, with the library of a module.
func (w wanted) goPeer(ctx context.Context, bin, name, program, module string) (peer, error) {
	if err := build(ctx, w.source, bin, "./servers/"+program); err != nil {
		return peer{}, err
	}
	path := filepath.Join(bin, program)
	p := peer{name: name, stdio: []string{path}, http: []string{path, "-http", "127.0.0.1:0"}}
	if module != "" {
		list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module)
		list.Dir = w.source
		out, err := list.Output()
		if err != nil {
			return peer{}, fmt.Errorf("version of %s: %w", module, err)
		}
		p.version = strings.TrimSpace(string(out))
	}
	return p, nil
}

// typescriptPeer is that of dir, with its modules, which are installed once.
func typescriptPeer(ctx context.Context, dir string) (peer, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return peer{}, fmt.Errorf("typescript %w: there is no node", errLeftOut)
	}
	if out, err := interruptible(ctx, filepath.Join(dir, "install")).CombinedOutput(); err != nil {
		return peer{}, fmt.Errorf("typescript %w: its modules cannot be installed: %w: %s", errLeftOut, err, out)
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
