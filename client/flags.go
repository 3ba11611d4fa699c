package client

import (
	"bytes"
	"encoding/json"
	"maps"
)

// flagSet is a set of what a filter asks for by flags.
type flagSet int

const (
	list flagSet = 1 << iota
	tools
	prompts
	extensions // all of them
)

// lists are the flags with a member of their own in a filter, and what a Status calls them.
var lists = []struct {
	flag         flagSet
	member, name string
}{
	{list, "resourcesListChanged", "resources"},
	{tools, "toolsListChanged", "tools"},
	{prompts, "promptsListChanged", "prompts"},
}

func flagsOf(w Want) (f flagSet) {
	for flag, wanted := range map[flagSet]bool{list: w.List, tools: w.Tools, prompts: w.Prompts, extensions: len(w.Extensions) > 0} {
		if wanted {
			f |= flag
		}
	}
	return f
}

func sameExtensions(a, b map[string]json.RawMessage) bool {
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

func (s *session) wantedFlags() flagSet { return flagsOf(s.want) }

// flagsIn are those of asked that are honoured.
func flagsIn(honoured map[string]json.RawMessage, asked flagSet, ext map[string]json.RawMessage) (flags flagSet) {
	for _, of := range lists {
		if string(honoured[of.member]) == "true" {
			flags |= of.flag
		}
	}
	if asked&extensions != 0 {
		flags |= extensions
		for name := range ext {
			if _, ok := honoured[name]; !ok {
				flags &^= extensions
			}
		}
	}
	return flags & asked
}

// honour notes which of the flags asked for the server announces.
func (s *session) honour(asked, honoured flagSet) {
	for _, of := range lists {
		switch {
		case asked&of.flag == 0:
		case honoured&of.flag == 0:
			s.pollList(of.flag)
		case s.looks[of.flag] != nil:
			s.polls.remove(s.looks[of.flag])
			delete(s.looks, of.flag)
			s.unhonoured &^= of.flag
			s.recount = true
		}
	}
	if asked&extensions != 0 && honoured&extensions == 0 && s.unhonoured&extensions == 0 {
		s.unhonoured |= extensions
		s.log.Warn("the server does not honour all extensions of the filter")
	}
	if honoured&extensions != 0 {
		s.unhonoured &^= extensions
	}
}
