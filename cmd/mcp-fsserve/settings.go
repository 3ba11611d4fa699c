package main

import (
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// settings are the flags that all commands share which open directories.
type settings struct {
	include, exclude, unhide []*resources.Glob
	hidden, noIgnore         bool

	maxSize  int64         // bytes
	pageSize int           // resources on a page of the list
	ttl      time.Duration // how long clients may take an answer for fresh
	base     string        // prefix of every URI; empty: file:// and the directory

	poll bool // of the commands that watch

	maxListens, maxURIs int // of the server alone
	web                 web // of the server alone
}

// defaults are said in the help, so they are set here and not left to the packages.
func defaults() settings {
	return settings{maxSize: 16 << 20, pageSize: 250, maxListens: 65_536, maxURIs: 10_000, web: webDefaults()}
}

// choosing are the flags that choose what is served.
func (s *settings) choosing(f *pflag.FlagSet) {
	f.Var(&globs{"--include", &s.include, resources.ParseGlob}, "include", "serve only what matches; repeatable, as all globs are")
	f.Var(&globs{"--exclude", &s.exclude, resources.ParseGlob}, "exclude", "do not serve what matches, whatever else is said")
	f.Var(&globs{"--unhide", &s.unhide, resources.ParseUnhide}, "unhide", "serve what matches though hidden, ignored or a credential")
	f.BoolVar(&s.hidden, "hidden", false, "serve names that start with a dot, but no credentials")
	f.BoolVar(&s.noIgnore, "no-ignore", false, "do not read .gitignore and .mcpignore files")
}

// answering are the flags that shape the answers.
func (s *settings) answering(f *pflag.FlagSet) {
	f.Var(&size{"--max-size", &s.maxSize}, "max-size", "largest file that is read, in bytes or with k, M or G; k is 1024")
	f.Var(&wholeNumber{"--page-size", &s.pageSize, mostPerPage}, "page-size", "resources on a page of the list")
	f.Var(&duration{"--ttl", &s.ttl, 0}, "ttl", "how long clients may take an answer for fresh, such as 30s")
	f.Var(&baseURI{"--uri-base", &s.base}, "uri-base", "what URIs begin with, a slash at its end (default file:// and the directory)")
}

// watching are the flags that say how changes are found.
func (s *settings) watching(f *pflag.FlagSet) {
	f.BoolVar(&s.poll, "poll", false, "look for changes, within 5 s, or 30 s after a quiet time, instead of being told by the system")
}

// limiting are the flags that bound what clients may ask for.
func (s *settings) limiting(f *pflag.FlagSet) {
	f.Var(&wholeNumber{"--max-listens", &s.maxListens, mostAtAll}, "max-listens", "listens and, over HTTP, sessions of older clients that may be open at once")
	f.Var(&wholeNumber{"--max-uris", &s.maxURIs, mostAtAll}, "max-uris", "URIs in one listen")
}

// Bounds of numbers. A page is one line, which is in memory as a whole.
const (
	mostPerPage = 100_000
	mostAtAll   = 1_000_000_000
)

// options are the settings as resources takes them.
func (s *settings) options(log *slog.Logger) *resources.Options {
	return &resources.Options{
		Base:    s.base,
		MaxSize: s.maxSize,
		Select: &resources.Selection{
			Include:  s.include,
			Exclude:  s.exclude,
			Unhide:   s.unhide,
			Hidden:   s.hidden,
			NoIgnore: s.noIgnore,
		},
		Logger: log,
	}
}
