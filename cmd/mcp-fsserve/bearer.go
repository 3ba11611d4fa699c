package main

import (
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// bearerVariable has the token for a URL. It is not the variable of the server, whose tokens must not go to whoever a URL
// leads to.
const bearerVariable = "MCP_FSSERVE_CLIENT_TOKEN"

// bearer are the flags of what asks a server at a URL.
type bearer struct{ token, file string }

func (b *bearer) flags(f *pflag.FlagSet) {
	f.Var(&secret{"--token", &b.token}, "token", "show the server at a URL this token, which other users of this machine can see, unlike one in a file")
	f.Var(&filename{"--token-file", &b.file, "FILE"}, "token-file", "show it the first token in FILE, in a line NAME TOKEN or TOKEN (default that in $"+bearerVariable+")")
}

// unused finds a flag that says nothing without a URL.
func (b *bearer) unused(given *pflag.FlagSet) error {
	for _, name := range []string{"token", "token-file"} {
		if given.Changed(name) {
			return usageError("leave it out", "--%s is for a URL", name)
		}
	}
	return nil
}

// header is what shows the token to the server at a URL, nil without one.
func (b *bearer) header(address string, log *slog.Logger) (http.Header, error) {
	if b.token != "" && b.file != "" {
		return nil, usageError("leave one out", "--token and --token-file contradict each other")
	}
	text, from := b.token, "--token"
	switch {
	case text != "":
	case b.file != "":
		read, err := readTokens(b.file, log)
		if err != nil {
			return nil, err
		}
		text, from = read, "--token-file "+quoteArg(b.file)
	default:
		if text, from = os.Getenv(bearerVariable), "$"+bearerVariable; text == "" {
			return nil, nil
		}
	}
	if _, err := transport.ParseTokens(text); err != nil {
		return nil, withHint("a line is NAME TOKEN or TOKEN alone", "%s: %w", from, err)
	}
	if readable(address) {
		log.Warn("the token goes unencrypted over the network", hintKey, "use a URL that begins with https://")
	}
	return http.Header{"Authorization": {"Bearer " + firstToken(text)}}, nil
}

// firstToken is the first one in a text that transport.ParseTokens takes.
func firstToken(text string) string {
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			return words[len(words)-1]
		}
	}
	return ""
}

// readable reports whether others can read on their way what is sent to a URL.
func readable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || strings.EqualFold(u.Scheme, "https") || strings.EqualFold(u.Hostname(), "localhost") {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err != nil || !addr.IsLoopback()
}

// secret is a flag that takes a token, which its errors do not repeat.
type secret struct {
	flag  string
	value *string
}

func (s *secret) String() string { return "" } // the default is none
func (s *secret) Type() string   { return "TOKEN" }
func (s *secret) Set(text string) error {
	switch {
	case text == "":
		return badValue(leftEmpty, "%s is an empty text", s.flag)
	case strings.ContainsAny(text, " \t\r\n#"):
		return badValue("it is the token alone, without Bearer or a name", "%s must be one word without #", s.flag)
	}
	*s.value = text
	return nil
}
