package mcp

// Implementation names a program and its version.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Resource is an entry of resources/list (server/resources, "Resource").
type Resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	MIMEType    string       `json:"mimeType"`
	Size        int64        `json:"size"` // bytes
	Annotations *Annotations `json:"annotations,omitempty"`
}

// Annotations are hints for clients (server/resources, "Annotations").
type Annotations struct {
	LastModified string `json:"lastModified"` // RFC 3339, UTC
}

// ResourcePage is one page of resources/list.
type ResourcePage struct {
	Resources  []Resource
	NextCursor string // empty on the last page
}

// ResourceTemplate is an entry of resources/templates/list.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"` // RFC 6570
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// SmallRead is the size in bytes up to which a read counts as small: resources reads it without asking for memory, since
// there are only so many reads at a time.
const SmallRead = 64 << 10

// Contents is what one resource held when it was read. Exactly one of text and blob goes on the wire.
type Contents struct {
	URI      string // the client's spelling
	MIMEType string
	Data     []byte
	Text     bool // Data is valid UTF-8 and goes out as text, else as base64
}

// Completion is what can follow a value (server/utilities/completion).
type Completion struct {
	Values  []string // what the value can become, 100 at most
	Total   int      // how many there are
	HasMore bool     // whether there are more than Values
}
