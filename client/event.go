package client

import (
	"encoding/json"
	"strconv"
	"time"
)

// Kind says what an [Event] tells.
type Kind int

const (
	// Live: everything that is wanted is followed from now on, and what is known of it is true.
	Live Kind = iota + 1
	// Lost: the connection has ended, or could not be made. It is tried again by itself.
	Lost
	// Updated: a followed resource may have changed, appeared or disappeared.
	Updated
	// Added: a resource is listed that was not. If it is followed, it is from now on.
	Added
	// Removed: a resource is listed no more. It may have come and gone between two calls of Next, without being told as Added.
	Removed
	// ToolsChanged and PromptsChanged: the list may have changed.
	ToolsChanged
	PromptsChanged
	// Notification: the server has sent a notification on a listen that the specification does not know.
	Notification
)

func (k Kind) String() string {
	switch k {
	case Live:
		return "live"
	case Lost:
		return "lost"
	case Updated:
		return "updated"
	case Added:
		return "added"
	case Removed:
		return "removed"
	case ToolsChanged:
		return "tools changed"
	case PromptsChanged:
		return "prompts changed"
	case Notification:
		return "notification"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Event is one thing that a [Client] tells.
type Event struct {
	Kind Kind

	Listed   int // of Live: how many resources are listed, 0 if the list is not wanted
	Followed int // of Live: how many resources are followed
	Polled   int // of Live: how many of those the server does not announce changes of, so that they are polled
	Sets     int // of Live: how many calls of [Client.Set] are in force, for who calls it while another goroutine calls Next

	Unhonoured []string // of Live: extensions and lists that the server does not honour, as in [Status]

	Err      error         // of Lost: why; of Updated with [Want.Read]: why there are no contents, such as an [*Error]
	Graceful bool          // of Lost: the server has ended a listen in order, or has left in order
	Attempts int           // of Lost: how many connections in a row have failed or were lost before they were live for long
	Retry    time.Duration // of Lost: in how long the next connection is tried

	URI      string    // of Updated, Added and Removed
	Resource *Resource // of Added: the entry of the list
	Contents []Content // of Updated and Added with [Want.Read], as of the moment when Next returns

	Method string          // of Notification
	Params json.RawMessage // of Notification
	Missed int             // of Notification: how many before it were dropped because Next was not called in time
}

// Resource is one entry of the list (server/resources, "Resource"), as it was when the list was last walked.
type Resource struct {
	URI          string
	Name         string
	Title        string
	Description  string
	MIMEType     string
	Size         int64           // bytes, 0 if the server does not say
	LastModified string          // of its annotations, RFC 3339; empty if the server does not say
	Raw          json.RawMessage // the whole entry; not to be changed
}

// Content is one part of what a resource holds (server/resources, "Reading Resources").
type Content struct {
	URI      string
	MIMEType string
	Data     []byte // not to be changed
	Text     bool   // it came as text, else as a blob
}
