package examples

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

const (
	acknowledged = "notifications/subscriptions/acknowledged"
	completed    = `"id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7,`
)

// TestInterruptedPipe: on a signal a server completes its listens and leaves, while its input is still open.
func TestInterruptedPipe(t *testing.T) {
	for name, listens := range map[string]string{
		"go-sdk": `"resourcesListChanged":true`, "mcp-go": `"resourcesListChanged":true`, "plain": `"resourceSubscriptions":["clock:///now"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := exec.CommandContext(t.Context(), program(name))
			stdin, err := server.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{%s},%s}}`+"\n", listens, meta)
			lines := bufio.NewScanner(stdout)
			if lines.Scan(); !strings.Contains(lines.Text(), acknowledged) {
				t.Errorf("first comes %q", lines.Text())
			}
			if err := server.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			last := ""
			for lines.Scan() {
				last = lines.Text()
			}
			if err := server.Wait(); err != nil || !strings.Contains(last, completed) {
				t.Errorf("ends with %v, its last words are %q", err, last)
			}
		})
	}
}

// TestInterruptedHTTP: on a signal a server completes its listens before it leaves.
func TestInterruptedHTTP(t *testing.T) {
	for _, name := range []string{"go-sdk", "mcp-go"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, leave := serveHTTP(t, name)
			c := call(t, wire.Target{URL: url})
			c.send("7", "subscriptions/listen", `"notifications":{"resourcesListChanged":true},`)
			m := c.next()
			if m.Method != acknowledged {
				t.Errorf("first comes %s", m.Raw)
			}
			leave()
			for m.Result == nil {
				m = c.next()
			}
			if !strings.Contains(string(m.Raw), completed) {
				t.Errorf("completed by %s", m.Raw)
			}
		})
	}
}
