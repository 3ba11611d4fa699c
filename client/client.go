package client

import (
	"context"
)

// Client keeps a subscription to one server. Make one with [New], and let [Client.Run] run.
type Client struct {
	target Target
	opts   Options
}

// New makes a client that follows want at t. It neither connects nor checks anything: Run does.
func New(t Target, want Want, opts *Options) *Client {
	return &Client{target: t, opts: opts.withDefaults(t.URL != "")}
}

// Run follows the server until ctx ends, which is no error. The error says what is wrong with the target or the [Want],
// or is that of the last connection if [Options.Retry] said to give up. It may be called once.
func (c *Client) Run(ctx context.Context) error { return nil }

// Set changes what is followed. What is no longer wanted is not told any more; [Live] is told when all of w is followed.
// An earlier Live that Next has not handed out is dropped. The error says what is wrong with w, which then changes
// nothing.
func (c *Client) Set(w Want) error { return nil }

// Next waits for something to tell. When Run has returned, and all is handed out, the error is [ErrStopped].
func (c *Client) Next(ctx context.Context) (Event, error) { return Event{}, ErrStopped }

// Resources are the entries of the list in its order, as last walked, if [Want.List] says so. The slice is the caller's.
func (c *Client) Resources() []Resource { return nil }

// Contents is what a followed resource held when it was last read, if [Want.Read] says so. The error is why it could not
// be read, such as an [*Error] of the server; ok is false if it is not followed or was not read yet.
func (c *Client) Contents(uri string) (contents []Content, err error, ok bool) {
	return nil, nil, false
}

// Read asks the server for what a resource holds, or answers what it answered before while the ttlMs of that lasts and no
// change was announced (server/utilities/caching). While there is no connection it waits for one.
func (c *Client) Read(ctx context.Context, uri string) ([]Content, error) { return nil, nil }

// List walks the list of resources, whatever is wanted, or answers what a walk found before, as Read does.
func (c *Client) List(ctx context.Context) ([]Resource, error) { return nil, nil }

// Status says how things stand.
func (c *Client) Status() Status { return Status{} }

// Status is how things stand with the server.
type Status struct {
	Live     bool
	Revision string   // of the protocol that is spoken; empty while there is no connection
	Server   string   // its name and version, as it says; empty if it does not
	Listens  int      // how many listens are open or asked for
	Polled   []string // followed URIs whose changes the server does not announce, sorted
	// PolledLists names the lists whose changes are wanted and not announced: "resources", "tools", "prompts".
	PolledLists []string
}
