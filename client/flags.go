package client

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// flagSet is a set of what a filter asks for by flags.
type flagSet int

const (
	list flagSet = 1 << iota
	tools
	prompts
	extensions // all of them
)

// lists are the flags with a member of their own in a filter, by which Unhonoured names them, and what PolledLists does.
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

// askedFlags are those of wantedFlags that are asked for, with the extensions: all that the server has not refused.
func (s *session) askedFlags() (flags flagSet, ext map[string]json.RawMessage) {
	flags, ext = s.wantedFlags()&^s.shunned, map[string]json.RawMessage{}
	for name, value := range s.want.Extensions {
		if !s.unmet[name] {
			ext[name] = value
		}
	}
	if len(ext) == 0 {
		flags &^= extensions
	}
	return flags, ext
}

// flagsIn are those lists of asked that are honoured.
func flagsIn(honoured map[string]json.RawMessage, asked flagSet) (flags flagSet) {
	for _, of := range lists {
		if string(honoured[of.member]) == "true" {
			flags |= of.flag
		}
	}
	return flags & asked
}

// honour notes which of the lists asked for, if they are wanted still, the server announces.
func (s *session) honour(asked, honoured flagSet) {
	asked &= s.wantedFlags()
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
}

// honourExtensions notes which of the extensions asked for the server honours, whatever it makes of their values.
func (s *session) honourExtensions(asked, honoured map[string]json.RawMessage) (some bool) {
	var unmet []string
	for name, value := range asked {
		_, ok := honoured[name]
		some = some || ok
		_, known := s.unmet[name]
		switch {
		case !bytes.Equal(value, s.want.Extensions[name]): // it is asked for anew
		case ok && known:
			delete(s.unmet, name)
			s.recount = true
		case !ok && !known:
			unmet = append(unmet, name)
			s.unmet[name] = false
			s.recount = true
		}
	}
	if len(unmet) > 0 {
		slices.Sort(unmet)
		s.log.Warn("the server does not honour extensions", "names", unmet)
	}
	return some
}

// shun notes lists and extensions that the server refuses.
func (s *session) shun(refused *listening) {
	s.shunned |= refused.flags & s.wantedFlags() &^ extensions
	s.honourExtensions(refused.ext, nil)
	for name, value := range refused.ext {
		if bytes.Equal(value, s.want.Extensions[name]) {
			s.unmet[name] = true
		}
	}
}

// unhonouredNames are the members of a filter that are wanted and not honoured, but for the URIs.
func (s *session) unhonouredNames() (names []string) {
	for _, of := range lists {
		if s.unhonoured&of.flag != 0 {
			names = append(names, of.member)
		}
	}
	for name := range s.unmet {
		if _, wanted := s.want.Extensions[name]; wanted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
