package mcp

import "context"

// Implementation names a program and its version.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Resource is an entry of resources/list (server/resources, "Resource").
type Resource struct {
	URI         string      `json:"uri"`
	Name        string      `json:"name"`
	MIMEType    string      `json:"mimeType"`
	Size        int64       `json:"size"` // bytes
	Annotations Annotations `json:"annotations,omitzero"`
}

// Annotations are hints for clients (server/resources, "Annotations").
type Annotations struct {
	LastModified string `json:"lastModified"` // RFC 3339, UTC; empty if it is not known
}

// ResourceTemplate is an entry of resources/templates/list.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"` // RFC 6570
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// SmallRead is the size in bytes up to which a read counts as small: resources holds it without asking for memory, since
// there are only so many reads at a time.
const SmallRead = 64 << 10

// ReadOptions are what a reader brings along. A nil *ReadOptions is the default.
type ReadOptions struct {
	// Reserve waits until there is memory to hold size bytes. Its error ends the read. Asked again, it gives so much instead of
	// what it gave before. Nil: nobody is asked.
	Reserve func(ctx context.Context, size int64) error
	// Measure says how many bytes a block of a text takes where it goes, for Body.Measured. All reads of a catalogue bring the same:
	// what it said of a file that has not changed is not asked again. Nil: that is 0.
	Measure func(block []byte) int
}

// Contents is what one resource held when it was read. Exactly one of text and blob goes on the wire.
type Contents struct {
	URI      string // the client's spelling
	MIMEType string
	Data     []byte // all of it, if Body is nil
	Body     Body   // what is too large to be held; the reader closes it
	Text     bool   // it is valid UTF-8 and goes out as text, else as base64
}

// Close lets go of the body, if there is one.
func (c *Contents) Close() {
	if c.Body != nil {
		c.Body.Close()
	}
}

// Body is what a resource held when it was read, to be had again block by block. It has one user at a time.
type Body interface {
	Size() int64     // bytes
	Measured() int64 // what ReadOptions.Measure said of all blocks together, if it is text
	Blocks() int     // how many there are
	// Block returns a block, from 0 on, exactly as it was when the resource was read; the length of each but the last is a
	// multiple of three, as base64 needs it, and a character may go on in the next. It is valid until the next call. The error
	// is ErrChanged if it is another one now.
	Block(i int) ([]byte, error)
	Close()
}

// Completion is what can follow a value (server/utilities/completion).
type Completion struct {
	Values  []string // what the value can become, 100 at most
	Total   int      // how many there are
	HasMore bool     // whether there are more than Values
}
