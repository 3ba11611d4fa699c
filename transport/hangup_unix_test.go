//go:build unix

package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// The end of input is seen behind more than is read ahead, while nothing is taken of the output.
func TestHangUpIsSeenBehindUnreadInput(t *testing.T) {
	in, client, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer client.Close()
	p := newPipe(NewServer(newFakeCatalogue(), listen.NewHub(nil), nil), context.Background(), io.Discard)
	p.f.maxWeight = 1
	p.lines = newLineReader(in, 4<<20)
	left := make(chan struct{})
	go func() { p.read(); close(left) }()
	defer func() { p.silence(); <-left }()

	const limit = 30 * time.Second // of a test that fails
	if err := client.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 4<<10-1) + "\n"
	for range readAhead/len(line) + 3 { // one answered, one in hand, and one at least in the pipe
		if _, err := io.WriteString(client, line); err != nil {
			t.Fatal(err)
		}
	}
	if hungUp(in) {
		t.Error("hung up before that")
	}
	client.Close()
	select {
	case err := <-p.ended:
		if !errors.Is(err, io.EOF) {
			t.Errorf("ended by %v", err)
		}
	case <-time.After(limit):
		t.Error("the end of input is not seen")
	}
}
