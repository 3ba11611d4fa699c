package transport

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// webOrigin is what a browser calls the origin of a page (RFC 6454), in one spelling.
type webOrigin struct {
	scheme, host string
	port         string // empty: the scheme's own
}

// parseHostPort reads a Host header, or the end of an origin: a name or an address, an IPv6 one in brackets, and perhaps a
// port. It returns the host in the one spelling that hosts are compared in.
func parseHostPort(s string) (host, port string, ok bool) {
	colon := strings.LastIndexByte(s, ':')
	if colon > strings.LastIndexByte(s, ']') {
		s, port = s[:colon], s[colon+1:]
		if !isPort(port) {
			return "", "", false
		}
	}
	if inner, bracketed := strings.CutPrefix(s, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return canonicalAddr(addr), port, closed && err == nil && addr.Is6()
	}
	host = canonicalHost(s)
	return host, port, isHostname(host)
}

// isPort accepts the empty port, which is the scheme's own ("port = *DIGIT", RFC 3986, 3.2.3).
func isPort(s string) bool {
	if strings.Trim(s, "0123456789") != "" {
		return false
	}
	_, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil
}

// canonicalHost spells a name in lower case without the dot that ends it, an address as canonicalAddr does.
func canonicalHost(s string) string {
	s = strings.TrimSuffix(s, ".")
	if addr, err := netip.ParseAddr(s); err == nil && addr.Is4() {
		return canonicalAddr(addr)
	}
	return lowerASCII(s)
}

// canonicalAddr spells an address without the zone, which says where this machine has it, and without IPv6 around IPv4.
// It has a colon or is IPv4's, and so is never a name.
func canonicalAddr(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.WithZone("").Unmap().String()
}

// lowerASCII leaves alone what is not ASCII: strings.ToLower would make the Kelvin sign a k.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// isHostname reports whether s has only what names have. Others, with an @ or a slash, could be read in two ways.
func isHostname(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && !strings.HasSuffix(s, ".")
}

// isLoopback reports whether a host in canonical spelling can only mean the client's own machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// parseOrigin reads an Origin header. Neither null, which any page can have, nor a list is an origin.
func parseOrigin(s string) (o webOrigin, ok bool) {
	scheme, rest, found := strings.Cut(s, "://")
	if !found || !isScheme(scheme) {
		return webOrigin{}, false
	}
	o.scheme = lowerASCII(scheme)
	o.host, o.port, ok = parseHostPort(rest)
	if o.port == defaultPorts[o.scheme] {
		o.port = ""
	}
	return o, ok
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// isScheme obeys "scheme = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )" (RFC 3986, 3.1).
func isScheme(s string) bool {
	s = lowerASCII(s)
	return s != "" && 'a' <= s[0] && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// parseAllowedHost reads a host that somebody allows. An IPv6 address may go without brackets.
func parseAllowedHost(s string) (string, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return canonicalAddr(addr), nil
	}
	host, port, ok := parseHostPort(s)
	switch {
	case strings.Contains(s, "://"):
		return "", errors.New("it is a URL, want the name or the address in it")
	case strings.Contains(s, "*"):
		return "", errors.New("it is a pattern, want each name by itself")
	case ok && port != "":
		return "", errors.New("it has a port, want the name or the address alone: every port will do")
	case !isASCII(s):
		return "", errors.New("it is not ASCII, want the name as browsers send it: xn--…")
	case !ok || strings.HasSuffix(s, ":"):
		return "", errors.New("it is neither a name nor an address")
	}
	return host, nil
}

// parseAllowedOrigin reads an origin that somebody allows.
func parseAllowedOrigin(s string) (webOrigin, error) {
	_, rest, found := strings.Cut(s, "://")
	o, ok := parseOrigin(s)
	switch {
	case s == "null":
		return o, errors.New("any page can have it, so it cannot be allowed")
	case strings.Contains(s, "*"):
		return o, errors.New("it is a pattern, want each origin by itself")
	case !isASCII(s):
		return o, errors.New("it is not ASCII, want the name as browsers send it: xn--…")
	case found && strings.Contains(rest, "/"):
		return o, errors.New("it has a path, want SCHEME://HOST or SCHEME://HOST:PORT alone")
	case !ok:
		return o, errors.New("it is not SCHEME://HOST or SCHEME://HOST:PORT")
	}
	return o, nil
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}
