package main

import (
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

// web are the flags of serving over HTTP.
type web struct {
	addr string // HOST:PORT; empty: stdio is served
	path string

	tokenFile, tlsCert, tlsKey string
	insecure                   bool
	hosts, origins             []string

	keepalive, writeTimeout, sessionTimeout time.Duration

	maxListensPerClient, maxRequests int
}

// webDefaults are said in the help, so they are set here and not left to the transport.
func webDefaults() web {
	return web{path: "/mcp", keepalive: 15 * time.Second, writeTimeout: 30 * time.Second, sessionTimeout: 30 * time.Minute,
		maxListensPerClient: 16_384, maxRequests: 1024}
}

// flags are all that make sense with --http alone, and --http.
func (w *web) flags(f *pflag.FlagSet) {
	f.Var(&address{"--http", &w.addr}, "http", "serve Streamable HTTP at ADDR, a port or HOST:PORT, instead of stdio")
	f.Var(&endpointPath{"--path", &w.path}, "path", "path of the endpoint")
	f.Var(&filename{"--token-file", &w.tokenFile, "FILE"}, "token-file", "admit clients with a token of FILE, a line NAME TOKEN each (default the lines in $"+tokenVariable+")")
	f.BoolVar(&w.insecure, "insecure", false, "admit everybody without a token, also from other machines")
	f.Var(&filename{"--tls-cert", &w.tlsCert, "FILE"}, "tls-cert", "certificate chain in FILE, in PEM form, for HTTPS")
	f.Var(&filename{"--tls-key", &w.tlsKey, "FILE"}, "tls-key", "private key in FILE for --tls-cert")
	f.Var(&admitted{"--allow-host", &w.hosts, "HOST", judgeHost}, "allow-host", "answer to HOST as a name of the server too; repeatable")
	f.Var(&admitted{"--allow-origin", &w.origins, "ORIGIN", judgeOrigin}, "allow-origin", "let web pages of ORIGIN ask, as in https://app.example.com; repeatable")
	f.Var(&duration{"--keepalive", &w.keepalive, time.Second}, "keepalive", "how often an idle stream gets a comment")
	f.Var(&duration{"--write-timeout", &w.writeTimeout, time.Second}, "write-timeout", "how long a client may take nothing of what is sent")
	f.Var(&duration{"--session-timeout", &w.sessionTimeout, time.Second}, "session-timeout", "how long a session of an older client may be idle and keep its place among the listens")
	f.Var(&wholeNumber{"--max-listens-per-client", &w.maxListensPerClient, mostAtAll}, "max-listens-per-client", "listens and sessions of one token or, without, of one address")
	f.Var(&wholeNumber{"--max-requests", &w.maxRequests, mostAtAll}, "max-requests", "requests that may be worked on at once, besides listens")
}

// check finds flags that are at odds with each other. given are those on the command line.
func (w *web) check(given *pflag.FlagSet) error {
	if w.addr == "" {
		return w.alone(given)
	}
	switch {
	case w.tlsCert != "" && w.tlsKey == "":
		return usageError("name the file with its private key too: --tls-key FILE", "--tls-cert needs --tls-key")
	case w.tlsKey != "" && w.tlsCert == "":
		return usageError("name the file with its certificate too: --tls-cert FILE", "--tls-key needs --tls-cert")
	case w.insecure && w.tokenFile != "":
		return usageError("leave one out", "--insecure and --token-file contradict each other")
	}
	return nil
}

// alone finds a flag that says nothing without --http.
func (w *web) alone(given *pflag.FlagSet) error {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(web).flags(own)
	var err error
	given.Visit(func(f *pflag.Flag) {
		if err == nil && own.Lookup(f.Name) != nil {
			err = usageError("add --http 8080, or leave it out", "--%s is for --http", f.Name)
		}
	})
	return err
}

// options are the flags as the transport takes them.
func (w *web) options(guard *transport.Guard, log *slog.Logger) *transport.HTTPOptions {
	return &transport.HTTPOptions{
		Path:                w.path,
		Keepalive:           w.keepalive,
		WriteTimeout:        w.writeTimeout,
		SessionTimeout:      w.sessionTimeout,
		MaxRequests:         w.maxRequests,
		MaxListensPerClient: w.maxListensPerClient,
		Guard:               guard,
		Logger:              log,
	}
}

// mostStreams is how many streams net/http can count: it has four times as many wait, in 32 bits.
const mostStreams = 1 << 28

// streams is how many one connection of HTTP/2 may have: all that its client may. Beyond them not even a request would be
// refused, it would wait for a listen to end. One that listens keeps about 20 kB resident, with TLS, and no descriptor.
func (w *web) streams() int { return min(w.maxListensPerClient+w.maxRequests, mostStreams) }

// fit lowers the number of listens to what descriptors leave, of which each may take one for its connection: without any
// left nobody could ask for anything.
func (s *settings) fit(descriptors int, log *slog.Logger) {
	room := max(descriptors-descriptors/8-64, 1) // the rest is for requests, files and watches
	if s.web.addr == "" || s.maxListens <= room {
		return
	}
	if s.maxListens != defaults().maxListens {
		log.Warn("fewer listens may be open than --max-listens says, since connections are limited", "listens", room, hintKey, "raise the limit of open files: ulimit -n")
	}
	s.maxListens = room
}
