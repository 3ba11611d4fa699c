package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// jsonList prints one JSON document, with one resource a line so that line tools see something too.
type jsonList struct {
	out   io.Writer
	begun bool
}

func newJSONList(out io.Writer) printer { return &jsonList{out: out} }

// jsonEntry has the members of a resource on the wire, but for the annotations, which it flattens.
type jsonEntry struct {
	URI          string `json:"uri"`
	Name         string `json:"name"`
	MIMEType     string `json:"mimeType"`
	Size         int64  `json:"size"`
	LastModified string `json:"lastModified,omitempty"`
}

func (j *jsonList) entry(r mcp.Resource) error {
	before := `{"resources":[` + "\n"
	if j.begun {
		before = ",\n"
	}
	j.begun = true
	e := jsonEntry{URI: r.URI, Name: r.Name, MIMEType: r.MIMEType, Size: r.Size, LastModified: r.Annotations.LastModified}
	return j.print(before, e, "")
}

func (j *jsonList) end(sum totals) error {
	before := `{"resources":[` + `],"totals":`
	if j.begun {
		before = "\n" + `],"totals":`
	}
	return j.print(before, sum, "}\n")
}

func (j *jsonList) print(before string, value any, after string) error {
	text := bytes.NewBufferString(before)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	text.Truncate(text.Len() - 1) // the encoder ends with a newline
	text.WriteString(after)
	_, err := j.out.Write(text.Bytes())
	return err
}
