package transport_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
	"github.com/mcp-fsserve/mcp-fsserve/transport"
)

const request = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`

// A server on standard input and output, whose library reads lines and writes lines. Here standard input is a listen and a
// request, the library echoes what it is given, and the listen is completed at the end of input.
func ExampleInterceptor_Stdio() {
	stdin := strings.NewReader(request + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
	var stdout strings.Builder

	hub := listen.NewHub(nil) // tells of changes: hub.Publish(listen.Change{Tools: true})
	listens := transport.NewInterceptor(&listen.Service{Hub: hub, Source: listen.URISource{ToolsListChanged: true}}, nil)
	pipe := listens.Stdio(stdin, &stdout)
	var seen strings.Builder
	library(pipe.Reader(), io.MultiWriter(&seen, pipe.Writer())) // in place of library(os.Stdin, os.Stdout)
	_ = pipe.Close()

	fmt.Print("The library has seen:\n", &seen)
	fmt.Println("The client was told:")
	for line := range strings.Lines(stdout.String()) {
		if strings.Contains(line, "subscriptionId") {
			fmt.Print(line)
		}
	}
	// Output:
	// The library has seen:
	// {"jsonrpc":"2.0","id":2,"method":"tools/list"}
	// The client was told:
	// {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true}}}
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
}

func library(in io.Reader, out io.Writer) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintln(out, lines.Text())
	}
}

// The same over HTTP, around whatever serves the other requests. What authenticates clients goes around the interceptor.
func ExampleInterceptor_Handler() {
	library := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "the library answers") })

	hub := listen.NewHub(nil)
	listens := transport.NewInterceptor(&listen.Service{Hub: hub, Source: listen.URISource{ToolsListChanged: true}}, nil)
	endpoint := listens.Handler(library, nil)
	server := httptest.NewServer(endpoint)
	defer server.Close() // in a program endpoint.Shutdown comes first, so that clients see a good end

	for _, method := range []string{"tools/list", "subscriptions/listen"} {
		r, _ := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(strings.Replace(request, "subscriptions/listen", method, 1)))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Method": {method}, "Mcp-Protocol-Version": {"2026-07-28"}}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		line, _ := bufio.NewReader(answer.Body).ReadString('\n')
		var told struct{ Method string }
		if data, is := strings.CutPrefix(line, "data: "); is && json.Unmarshal([]byte(data), &told) == nil {
			line = told.Method + "\n"
		}
		fmt.Print(line)
		answer.Body.Close()
	}
	// Output:
	// the library answers
	// notifications/subscriptions/acknowledged
}
