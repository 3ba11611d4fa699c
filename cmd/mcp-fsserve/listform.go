package main

import (
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// listForm is how list prints: as a tree unless a flag says otherwise.
type listForm struct {
	paths, json bool
	why         texts
}

func (f *listForm) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.paths, "paths", false, "print one path a line")
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	flags.Var(&f.why, "why", "print which rule decides over a path; repeatable")
}

// check reports flags that exclude each other.
func (f *listForm) check() error {
	var given []string
	for _, flag := range []struct {
		name string
		set  bool
	}{{"--paths", f.paths}, {"--json", f.json}, {"--why", len(f.why) > 0}} {
		if flag.set {
			given = append(given, flag.name)
		}
	}
	if len(given) > 1 {
		return usageError("each is a form of its own", "only one of %s can be given", strings.Join(given, " and "))
	}
	return nil
}

// printer is what prints the list. Files above maxSize, in bytes, are listed all the same; people should know.
func (f *listForm) printer(maxSize int64) func(io.Writer) printer {
	switch {
	case f.json:
		return newJSONList
	case f.paths:
		return newPathList
	}
	return func(out io.Writer) printer { return newTreeList(out, maxSize) }
}

// texts is a flag that takes any text each time it is given.
type texts []string

func (t *texts) String() string { return "" } // the default is none
func (t *texts) Type() string   { return "PATH" }
func (t *texts) Set(text string) error {
	if text == "" {
		return badValue(leftEmpty, "--why is an empty text")
	}
	if looksLikeFlag(text) {
		return badValue("a path that begins like one is written ./"+text, "--why has no PATH: %s looks like a flag", text)
	}
	*t = append(*t, text)
	return nil
}
