package examples

import (
	"context"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-fsserve/mcp-fsserve/examples/queue"
)

// TestClients: the client of the Go SDK hears of changes through interceptors in the revision with listens, and from the
// libraries in an earlier one, which pass through them. The SDK serves that over HTTP without notifications, as it is
// stateless there.
func TestClients(t *testing.T) {
	for _, c := range []struct{ server, carrier, version string }{
		{"go-sdk", "pipe", "2026-07-28"},
		{"go-sdk", "http", "2026-07-28"},
		{"go-sdk", "pipe", "2025-11-25"},
		{"mcp-go", "pipe", "2026-07-28"},
		{"mcp-go", "http", "2026-07-28"},
		{"mcp-go", "pipe", "2025-11-25"},
		{"mcp-go", "http", "2025-11-25"},
	} {
		t.Run(c.server+"/"+c.carrier+"/"+c.version, func(t *testing.T) {
			t.Parallel()
			var carrier mcp.Transport
			if args := []string{"--interval", "50ms"}; c.carrier == "pipe" {
				carrier = &mcp.CommandTransport{Command: exec.Command(program(c.server), args...)}
			} else {
				carrier = &mcp.StreamableClientTransport{Endpoint: overHTTP(t, c.server, args...)}
			}
			checkClient(t, carrier, c.version)
		})
	}
}

func checkClient(t *testing.T, carrier mcp.Transport, version string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lists, updates := make(chan struct{}, 1000), make(chan string, 1000)
	client := mcp.NewClient(&mcp.Implementation{Name: "examples", Version: "1"}, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { lists <- struct{}{} },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			if r.Params.URI == queue.Clock { // a library may tell of others, too
				updates <- r.Params.URI
			}
		},
	})
	session, err := client.Connect(ctx, carrier, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the revision is %s, want %s", got, version)
	}
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: queue.Clock}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, heard := range []func() bool{
			func() bool { return receive(ctx, lists) },
			func() bool { return receive(ctx, updates) },
		} {
			if !heard() {
				t.Fatal("not told of a change")
			}
		}
		read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: queue.Clock})
		if err != nil || len(read.Contents) != 1 {
			t.Fatalf("read %+v: %v", read, err)
		}
	}
}

func receive[T any](ctx context.Context, from <-chan T) bool {
	select {
	case <-from:
		return true
	case <-ctx.Done():
		return false
	}
}
