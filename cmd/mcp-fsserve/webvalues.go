package main

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// address is a flag that takes where to listen: a port of this machine's own, or HOST:PORT. An empty HOST is every address.
type address struct {
	flag  string
	value *string
}

func (a *address) String() string { return *a.value }
func (a *address) Type() string   { return "ADDR" }
func (a *address) Set(text string) error {
	if text == "" {
		return badValue(leftEmpty, "%s is an empty text", a.flag)
	}
	if isPort(text) {
		*a.value = net.JoinHostPort("127.0.0.1", text)
		return nil
	}
	hint := "as in " + a.flag + " 8080 or " + a.flag + " 127.0.0.1:8080"
	alone := text
	if strings.HasSuffix(text, "]") {
		alone = strings.Trim(text, "[]")
	}
	switch addr, err := netip.ParseAddr(alone); {
	case strings.Contains(text, "/"):
		return badValue(hint, "%s must be a port or HOST:PORT, not the URL or path %q", a.flag, text)
	case err == nil:
		return badValue("write "+net.JoinHostPort(addr.String(), "8080"), "%s %s: no port", a.flag, text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || !isPort(port) || host != "" && judgeHost(host) != nil {
		return badValue(hint, "%s must be a port or HOST:PORT, not %q", a.flag, text)
	}
	*a.value = net.JoinHostPort(host, port)
	return nil
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// endpointPath is a flag that takes the path of a URL.
type endpointPath struct {
	flag  string
	value *string
}

func (p *endpointPath) String() string { return *p.value }
func (p *endpointPath) Type() string   { return "PATH" }
func (p *endpointPath) Set(text string) error {
	const harmless = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
	switch {
	case text == "":
		return badValue(leftEmpty, "%s is an empty text", p.flag)
	case !strings.HasPrefix(text, "/"):
		return badValue("write /"+strings.TrimPrefix(text, "./"), "%s must begin with a slash, not %q", p.flag, text)
	case strings.Trim(text, harmless) != "":
		return badValue("", "%s takes letters, digits, - . _ ~ and slashes, not %q", p.flag, text)
	case strings.Contains(text+"/", "//") && text != "/", strings.Contains(text+"/", "/./"), strings.Contains(text+"/", "/../"):
		return badValue("clients and proxies would change it", "%s must have no empty, . or .. segments: %q", p.flag, text)
	}
	*p.value = text
	return nil
}

// filename is a flag that takes the path of a file, or of what its kind says.
type filename struct {
	flag  string
	value *string
	kind  string
}

func (n *filename) String() string { return *n.value }
func (n *filename) Type() string   { return n.kind }
func (n *filename) Set(text string) error {
	if text == "" {
		return badValue(leftEmpty, "%s is an empty text", n.flag)
	}
	path, err := expandHome(text)
	*n.value = path
	return err
}

// admitted is a flag that takes one host or origin each time it is given.
type admitted struct {
	flag  string
	value *[]string
	kind  string
	judge func(string) error
}

func (a *admitted) String() string { return "" } // the default is none
func (a *admitted) Type() string   { return a.kind }
func (a *admitted) Set(given string) error {
	if given == "" {
		return badValue(leftEmpty, "%s is an empty text", a.flag)
	}
	if err := a.judge(given); err != nil {
		return badValue("", "%s %s: %v", a.flag, quoteArg(given), err)
	}
	*a.value = append(*a.value, given)
	return nil
}

func judgeHost(s string) error {
	_, err := transport.NewGuard(&transport.GuardOptions{Hosts: []string{s}})
	return errors.Unwrap(err) // without the host, which is said already
}

func judgeOrigin(s string) error {
	_, err := transport.NewGuard(&transport.GuardOptions{Origins: []string{s}})
	return errors.Unwrap(err)
}
