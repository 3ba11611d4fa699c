package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// facts prints what a listener is told: one line a fact, each written by one Write, for people or as JSON.
type facts struct {
	out    io.Writer
	asJSON bool
}

// fact is one line of JSON.
type fact struct {
	Event     string `json:"event"` // live, updated, added or removed
	Resources *int   `json:"resources,omitempty"`
	URI       string `json:"uri,omitempty"`
}

func newFacts(out io.Writer, asJSON bool) *facts { return &facts{out: out, asJSON: asJSON} }

func (f *facts) live(resources int) error {
	noun := "resources"
	if resources == 1 {
		noun = "resource"
	}
	return f.print(fact{Event: "live", Resources: &resources}, "live %d %s\n", resources, noun)
}

func (f *facts) updated(uri string) error {
	return f.print(fact{Event: "updated", URI: uri}, "updated %s\n", uri)
}

func (f *facts) added(uri string) error {
	return f.print(fact{Event: "added", URI: uri}, "list + %s\n", uri)
}

func (f *facts) removed(uri string) error {
	return f.print(fact{Event: "removed", URI: uri}, "list - %s\n", uri)
}

func (f *facts) print(asJSON fact, format string, args ...any) error {
	if !f.asJSON {
		_, err := fmt.Fprintf(f.out, format, args...)
		return err
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(asJSON); err != nil {
		return err
	}
	_, err := f.out.Write(line.Bytes())
	return err
}
