package main

import (
	"strconv"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

// server are the arguments that make another process serve what cfg says.
func (p *program) server(cfg config) []string {
	args := []string{"--log-level=" + p.level, "--log-format=" + p.format}
	args = append(args, cfg.settings.arguments()...)
	return append(append(args, "--"), passed(cfg.places)...)
}

// arguments are the flags that say the same as s.
func (s *settings) arguments() (args []string) {
	for _, kind := range s.kinds() {
		for _, g := range kind.globs {
			args = append(args, kind.flag+"="+g.String())
		}
	}
	args = append(args,
		"--hidden="+strconv.FormatBool(s.hidden),
		"--no-ignore="+strconv.FormatBool(s.noIgnore),
		"--poll="+strconv.FormatBool(s.poll),
		"--max-size="+strconv.FormatInt(s.maxSize, 10),
		"--page-size="+strconv.Itoa(s.pageSize),
		"--ttl="+s.ttl.String())
	if s.base != "" {
		args = append(args, "--uri-base="+s.base)
	}
	return args
}

// globsOf are the globs of one flag.
type globsOf struct {
	flag  string
	globs []*resources.Glob
}

func (s *settings) kinds() []globsOf {
	return []globsOf{{"--include", s.include}, {"--exclude", s.exclude}, {"--unhide", s.unhide}}
}
