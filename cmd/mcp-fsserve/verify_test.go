package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// hasty is a server that tells a listen of a change before it acknowledges it, and leaves without a word; TestMain makes
// it a command. Its changes are those of its own that it makes with each listen.
func hasty() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Notifications json.RawMessage }
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil {
			continue
		}
		tag := fmt.Sprintf(`"_meta":{%q:%s}`, mcp.MetaSubscriptionID, m.ID)
		switch m.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`+"\n", m.ID)
		case "subscriptions/listen":
			if !strings.HasPrefix(string(m.Params.Notifications), "{") {
				m.Params.Notifications = json.RawMessage("{}")
			}
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{%s}}`+"\n", tag)
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{%s,"notifications":%s}}`+"\n", tag, m.Params.Notifications)
		}
	}
}

func TestTokenOfAFile(t *testing.T) {
	for text, want := range map[string]string{"s3cret": "s3cret", "# one\n\nlaptop s3cret # mine\nother 0ther\n": "s3cret", "\ufeffs3cret\r\n": "s3cret"} {
		if got := firstToken(text); got != want {
			t.Errorf("the token in %q is %q", text, got)
		}
	}
}

func TestTokenIsReadableOnTheWay(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:8080/mcp": false, "http://[::1]/mcp": false, "http://localhost/mcp": false, "https://docs.example.com/mcp": false,
		"http://docs.example.com/mcp": true, "http://192.0.2.1/mcp": true,
	} {
		if got := readable(address); got != want {
			t.Errorf("a token to %s is readable: %v", address, got)
		}
	}
}
