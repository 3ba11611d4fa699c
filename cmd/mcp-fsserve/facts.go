package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/client"
)

// facts prints what a listener is told: one line a fact, each written by one Write, for people or as JSON.
type facts struct {
	out    io.Writer
	asJSON bool
	read   bool // what resources hold is printed, too
}

// fact is one line of JSON.
type fact struct {
	Event     string    `json:"event"` // live, lost, updated, added or removed
	Resources *int      `json:"resources,omitempty"`
	URI       string    `json:"uri,omitempty"`
	Reason    string    `json:"reason,omitempty"`  // of lost
	RetryMS   *int64    `json:"retryMs,omitempty"` // of lost
	Contents  []content `json:"contents,omitempty"`
	Error     string    `json:"error,omitempty"` // why there are no contents
}

// content is as in an answer to resources/read.
type content struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

// tell prints an event.
func (f *facts) tell(e client.Event) error {
	if f.asJSON {
		return f.tellMachines(e)
	}
	var text bytes.Buffer
	switch e.Kind {
	case client.Live:
		fmt.Fprintf(&text, "live %s\n", counted(e.Followed, "resource"))
	case client.Lost:
		fmt.Fprintf(&text, "lost %s\n", printable(e.Err.Error()))
	case client.Updated:
		fmt.Fprintf(&text, "updated %s\n", printable(e.URI))
	case client.Added:
		fmt.Fprintf(&text, "list + %s\n", printable(e.URI))
	case client.Removed:
		fmt.Fprintf(&text, "list - %s\n", printable(e.URI))
	default:
		return nil // of what was not asked for
	}
	if f.read && e.Kind != client.Lost {
		printContents(&text, e)
	}
	_, err := f.out.Write(text.Bytes())
	return err
}

// printContents prints below a fact what its resource holds, each line indented.
func printContents(text *bytes.Buffer, e client.Event) {
	const indent = "    "
	if e.Err != nil {
		fmt.Fprintf(text, indent+"cannot be read: %s\n", printable(e.Err.Error()))
	}
	for _, c := range e.Contents {
		switch {
		case !c.Text:
			kind := c.MIMEType
			if kind == "" {
				kind = "unknown type"
			}
			fmt.Fprintf(text, indent+"(%s, %s)\n", printable(kind), counted(len(c.Data), "byte"))
		case len(c.Data) == 0:
			text.WriteString(indent + "(empty)\n")
		}
		if c.Text {
			for line := range strings.Lines(string(c.Data)) {
				fmt.Fprintf(text, indent+"%s\n", legible(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")))
			}
		}
	}
}

// legible is a line of somebody's text without what would command a terminal.
func legible(line string) string {
	if !strings.ContainsFunc(line, func(r rune) bool { return !plain(r) && r != '\t' }) {
		return line
	}
	return strconv.Quote(line)
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func (f *facts) tellMachines(e client.Event) error {
	line := fact{URI: e.URI}
	switch e.Kind {
	case client.Live:
		line.Event, line.Resources = "live", &e.Followed
	case client.Lost:
		wait := e.Retry.Round(time.Millisecond).Milliseconds()
		line.Event, line.Reason, line.RetryMS = "lost", e.Err.Error(), &wait
	case client.Updated, client.Added, client.Removed:
		line.Event = e.Kind.String()
		if f.read {
			line.hold(e)
		}
	default:
		return nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		return err
	}
	_, err := f.out.Write(text.Bytes())
	return err
}

// hold adds what the resource holds, or why that is not known.
func (line *fact) hold(e client.Event) {
	if e.Err != nil {
		line.Error = e.Err.Error()
	}
	for _, c := range e.Contents {
		one := content{URI: c.URI, MIMEType: c.MIMEType}
		if c.Text {
			text := string(c.Data)
			one.Text = &text
		} else {
			blob := base64.StdEncoding.EncodeToString(c.Data)
			one.Blob = &blob
		}
		line.Contents = append(line.Contents, one)
	}
}
