package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// role makes a process of this test binary a server that behaves in the way it names.
const role = "WIRE_TEST_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		os.Exit(roles[name]())
	}
	goleak.VerifyTestMain(m)
}

var roles = map[string]func() int{
	"echo": func() int {
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				fmt.Println(`{"jsonrpc":"2.0","id":0,"result":{"bye":true}}`)
				return 0
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":7,"result":{"got":%s}}`+"\n", strings.TrimSpace(line))
		}
	},
	"crash": func() int { fmt.Fprintln(os.Stderr, "no licence"); return 3 },
	"deaf": func() int {
		ignoreTerminate()
		fmt.Println(`{"jsonrpc":"2.0","method":"deaf"}`)
		select {}
	},
	"obeys": func() int { // leaves by SIGTERM alone
		fmt.Println(`{"jsonrpc":"2.0","method":"obeys"}`)
		select {}
	},
	"bows": func() int { // leaves by SIGTERM alone, and then in order
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		fmt.Println(`{"jsonrpc":"2.0","method":"bows"}`)
		<-told
		return 0
	},
	"babble": func() int {
		fmt.Println("Server listening...")
		fmt.Println()
		fmt.Println(strings.Repeat("x", 1<<20))
		fmt.Println(`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"a"}]`)
		fmt.Print(`{"jsonrpc":"2.0","method":"last"}`)
		return 0
	},
	"parent": func() int { // leaves one behind that holds its output
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=deaf")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 9
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", cmd.Process.Pid)
		return 0
	},
	"daemon": func() int { // crashes, and leaves one behind that holds its standard error alone
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=deaf")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return 9
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", cmd.Process.Pid)
		return 3
	},
	"mute": func() int { // closes its output and stays
		_ = os.Stdout.Close()
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return 0
	},
}

// command is the target that starts this binary in a role.
func command(name string) Target {
	return Target{Command: []string{os.Args[0]}, Env: append(os.Environ(), role+"="+name)}
}

// seen keeps what arrived.
type seen struct {
	mu     sync.Mutex // guards the fields below
	events []Event
	more   chan struct{} // closed and replaced at each event
}

func newSeen() *seen { return &seen{more: make(chan struct{})} }

func (s *seen) take(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *seen) all() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// wait returns the first event for which is says so.
func (s *seen) wait(t *testing.T, is func(Event) bool) Event {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		more := s.more
		s.mu.Unlock()
		for _, e := range s.all() {
			if is(e) {
				return e
			}
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("did not arrive; what did: %s", describe(s.all()))
		}
	}
}

func describe(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "\n%s", say(e))
	}
	return b.String()
}

// say is an event as one line.
func say(e Event) string {
	text := ""
	if e.Request != nil {
		text = string(e.Request) + ": "
	}
	if e.Status != 0 {
		text += fmt.Sprintf("%d ", e.Status)
	}
	switch {
	case e.Message != nil:
		text += string(e.Message.Raw)
	case e.End:
		text += fmt.Sprintf("end %v", e.Err)
	case e.Err != nil:
		text += fmt.Sprintf("bad %v", e.Err)
	default:
		text += "alive"
	}
	return text
}

func isEnd(e Event) bool { return e.End }

func method(name string) func(Event) bool {
	return func(e Event) bool { return e.Message != nil && e.Message.Method == name }
}

func endOf(id string) func(Event) bool {
	return func(e Event) bool { return e.End && string(e.Request) == id }
}

func dial(t *testing.T, target Target) (Conn, *seen) {
	t.Helper()
	s := newSeen()
	c, err := Dial(t.Context(), target, s.take)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func request(id, method, params string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func decoded[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}
