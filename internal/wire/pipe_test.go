package wire

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPipeCarriesMessagesInOrder(t *testing.T) {
	c, s := dial(t, command("echo"))
	for _, text := range []string{"1", `"two"`, "{}"} {
		if err := c.Send(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Cancel(t.Context(), []byte(`"a"`)); err != nil {
		t.Fatal(err)
	}
	if err := c.Follow(t.Context()); err != nil {
		t.Error("there is nothing to open on a pipe:", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal("Close:", err)
	}
	var got []string
	for _, e := range s.all() {
		got = append(got, say(e))
	}
	want := []string{
		`{"jsonrpc":"2.0","id":7,"result":{"got":1}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"got":"two"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"got":{}}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"got":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}}}`,
		`{"jsonrpc":"2.0","id":0,"result":{"bye":true}}`, // what it says after the end of its input arrives, too
		`end <nil>`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("arrived: %s\nwant: %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := c.Send(t.Context(), []byte("{}")); !errors.Is(err, ErrClosed) {
		t.Error("Send after Close:", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error("Close again:", err)
	}
}

func TestPipeTellsHowTheCommandEnded(t *testing.T) {
	var stderr lockedBuffer
	target := command("crash")
	target.Stderr = &stderr
	c, s := dial(t, target)
	if e := s.wait(t, isEnd); e.Err == nil || !strings.Contains(e.Err.Error(), "exit status 3") {
		t.Error("end:", e.Err)
	}
	if err := c.Send(t.Context(), []byte("{}")); !errors.Is(err, ErrClosed) {
		t.Error("Send to a command that has left:", err)
	}
	if err := c.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Error("Close:", err)
	}
	if got := stderr.String(); got != "no licence\n" {
		t.Errorf("standard error: %q", got)
	}
}

func TestPipeTakesNoisyServers(t *testing.T) {
	target := command("babble")
	target.MaxMessage = 100
	c, s := dial(t, target)
	s.wait(t, isEnd)
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range s.all() {
		text := say(e)
		var frame *FrameError
		if errors.As(e.Err, &frame) {
			text = "bad: " + frame.Reason
		}
		got = append(got, text)
	}
	want := []string{
		"bad: not valid JSON",
		"bad: it is longer than 100 bytes",
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"a"}`,
		`{"jsonrpc":"2.0","method":"last"}`,
		`end <nil>`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("arrived: %q\nwant: %q", got, want)
	}
}

func TestCloseEndsWhatDoesNotLeave(t *testing.T) {
	t.Run("in a hurry", func(t *testing.T) {
		c, s := dial(t, command("deaf"))
		s.wait(t, method("deaf"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Close(ctx); !errors.Is(err, ErrForced) {
			t.Error(err)
		}
		s.wait(t, isEnd)
	})
	t.Run("while it reads nothing", func(t *testing.T) {
		c, s := dial(t, command("deaf"))
		s.wait(t, method("deaf"))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
		if err := c.Send(ctx, big); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("Send waited for a full pipe:", err)
		}
		if err := c.Send(ctx, big); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("the second Send:", err)
		}
		if err := c.Close(ctx); !errors.Is(err, ErrForced) {
			t.Error(err)
		}
	})
}

func TestCloseKillsInTheEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a server is given")
	}
	t.Parallel()
	c, s := dial(t, command("deaf"))
	s.wait(t, method("deaf"))
	begun := time.Now()
	if err := c.Close(context.Background()); !errors.Is(err, ErrForced) {
		t.Error(err)
	}
	if took := time.Since(begun); took < leaveWithin+heedWithin && runtime.GOOS != "windows" {
		t.Errorf("it had %v, and is to have %v", took, leaveWithin+heedWithin)
	}
}

func TestPipeEndsThoughOthersHoldIt(t *testing.T) {
	target := command("parent")
	target.Stderr = new(lockedBuffer)
	c, s := dial(t, target)
	e := s.wait(t, func(e Event) bool { return e.Message != nil && e.Message.Result != nil })
	if e := s.wait(t, isEnd); e.Err != nil {
		t.Error("end:", e.Err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	requireGone(t, decoded[int](t, e.Message.ID))
}

// Somebody who holds the standard error of a command keeps nobody from learning how it has left.
func TestPipeTellsHowACommandEndedWhoseStandardErrorIsHeld(t *testing.T) {
	target := command("daemon")
	target.Stderr = new(lockedBuffer)
	c, s := dial(t, target)
	e := s.wait(t, func(e Event) bool { return e.Message != nil && e.Message.Result != nil })
	if e := s.wait(t, isEnd); e.Err == nil || !strings.Contains(e.Err.Error(), "exit status 3") {
		t.Error("end:", e.Err)
	}
	_ = c.Close(t.Context())
	left, err := os.FindProcess(decoded[int](t, e.Message.ID))
	if err != nil || left.Kill() != nil {
		t.Error("what it has left behind is gone:", err)
	}
}

func TestPipeThatIsClosedByTheServerEnds(t *testing.T) {
	c, s := dial(t, command("mute"))
	if e := s.wait(t, isEnd); e.Err == nil {
		t.Error("the end of the output alone is not in order")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDialRefusesWhatIsNoServer(t *testing.T) {
	for want, target := range map[string]Target{
		"no server: neither a command nor a URL":     {},
		"a server is a command or a URL, not both":   {Command: []string{"x"}, URL: "http://x"},
		"executable file not found":                  {Command: []string{"mcp-no-such-program"}},
		`begins with http:// or https:// and a host`: {URL: "ftp://host/"},
		"makes no sense":                             {URL: "http://[::1"},
	} {
		c, err := Dial(t.Context(), target, func(Event) {})
		if err == nil {
			_ = c.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", target, err, want)
		}
	}
}

// lockedBuffer is written to by one goroutine and read by another.
type lockedBuffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func BenchmarkPipe(b *testing.B) {
	got := make(chan struct{}, 1)
	c, err := Dial(b.Context(), command("echo"), func(Event) {
		select {
		case got <- struct{}{}:
		default:
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := c.Send(b.Context(), []byte("1")); err != nil {
			b.Fatal(err)
		}
		<-got
	}
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
