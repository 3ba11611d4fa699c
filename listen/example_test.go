package listen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// bell is a carrier: it wakes whoever waits for it, and has a buffer of 1.
type bell chan struct{}

func (b bell) Wake(*listen.Stream) {
	select {
	case b <- struct{}{}:
	default:
	}
}

// write is what a transport does: it takes so many messages, or all there will ever be if that is negative, and waits to be
// woken when there is none. Package transport has it for pipes and for HTTP.
func (b bell) write(s *listen.Stream, messages int) {
	for messages != 0 {
		frame, wait := s.Next(nil, time.Now())
		switch {
		case frame != nil:
			fmt.Println(string(frame))
			messages--
		case wait == listen.Over:
			return
		case wait > 0:
			select {
			case <-b:
			case <-time.After(wait):
			}
		default:
			<-b
		}
	}
}

// A server whose events are published to a hub needs no handler: a source says what is published.
func Example() {
	service := &listen.Service{Hub: listen.NewHub(nil), Source: listen.URISource{ResourcesListChanged: true}}

	client := make(bell, 1)
	stream, err := service.Open(context.Background(), json.RawMessage(`1`), json.RawMessage(
		`{"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"resourceSubscriptions":["db://users"]}}`), client)
	if err != nil {
		fmt.Println(err)
		return
	}
	client.write(stream, 1)

	service.Hub.Publish(listen.Change{Keys: []string{"db://users/7", "db://orders/1"}})
	client.write(stream, 1)

	stream.Complete()
	client.write(stream, -1)
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["db://users"]}}}
	// {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"uri":"db://users"}}
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
}

// A handler owns a subscription: here the only resource is a clock, which stops after its first tick.
func ExampleHandler() {
	clock := func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
		honoured := listen.Filter{}
		for _, uri := range r.Filter.ResourceSubscriptions {
			if uri == "clock://now" {
				honoured.ResourceSubscriptions = []string{uri}
			}
		}
		sender, err := p.Acknowledge(honoured)
		if err != nil {
			return err
		}
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		select {
		case <-ticker.C:
			return sender.Updated("clock://now")
		case <-ctx.Done(): // the client has cancelled, or the server ends
			return nil
		}
	}
	service := &listen.Service{Hub: listen.NewHub(nil), Handler: listen.HandlerFunc(clock)}

	client := make(bell, 1)
	stream, err := service.Open(context.Background(), json.RawMessage(`"mine"`), json.RawMessage(
		`{"notifications":{"resourceSubscriptions":["clock://now","clock://then"]}}`), client)
	if err != nil {
		fmt.Println(err)
		return
	}
	client.write(stream, -1)
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"mine"},"notifications":{"resourceSubscriptions":["clock://now"]}}}
	// {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"mine"},"uri":"clock://now"}}
	// {"jsonrpc":"2.0","id":"mine","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"mine"}}}
}

// An extension has a filter and notifications of its own, of which this package knows nothing. The handler refuses a filter
// that it does not understand, and acknowledges what it made of it.
func ExampleSender_Notify() {
	const name = "com.example/queue"
	queue := func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
		var filter struct {
			Topics []string `json:"topics"`
		}
		if err := json.Unmarshal(r.Filter.Extensions[name], &filter); err != nil {
			return listen.InvalidParams("notifications.%s must be an object with topics", name)
		}
		sender, err := p.Acknowledge(listen.Filter{Extensions: map[string]json.RawMessage{name: json.RawMessage(`{"topics":["mail"]}`)}})
		if err != nil {
			return err
		}
		return sender.Notify(ctx, "com.example/queued", map[string]any{"topic": "mail", "length": 3})
	}
	service := &listen.Service{Hub: listen.NewHub(nil), Handler: listen.HandlerFunc(queue)}

	for _, filter := range []string{`{"topics":["mail","fax"]}`, `["mail"]`} {
		client := make(bell, 1)
		stream, err := service.Open(context.Background(), json.RawMessage(`1`), json.RawMessage(
			`{"notifications":{"com.example/queue":`+filter+`}}`), client)
		if err != nil {
			fmt.Println(err)
			return
		}
		client.write(stream, -1)
	}
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"com.example/queue":{"topics":["mail"]}}}}
	// {"jsonrpc":"2.0","method":"com.example/queued","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"length":3,"topic":"mail"}}
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
	// {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: notifications.com.example/queue must be an object with topics"}}
}

// A handler may add to what the server does: here its source tells of files, and the handler of the tools.
func ExamplePending_Builtin() {
	installed := make(chan struct{})
	both := func(ctx context.Context, r *listen.Request, p *listen.Pending) error {
		honoured, err := p.Builtin(ctx, r.Filter)
		if err != nil {
			return err
		}
		honoured.ToolsListChanged = r.Filter.ToolsListChanged
		sender, err := p.Acknowledge(honoured)
		for err == nil {
			select {
			case <-installed:
				if honoured.ToolsListChanged {
					err = sender.ToolsListChanged()
				}
			case <-ctx.Done():
				return nil
			}
		}
		return err
	}
	service := &listen.Service{Hub: listen.NewHub(nil), Source: listen.URISource{}, Handler: listen.HandlerFunc(both)}

	client := make(bell, 1)
	stream, err := service.Open(context.Background(), json.RawMessage(`1`), json.RawMessage(
		`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}}`), client)
	if err != nil {
		fmt.Println(err)
		return
	}
	client.write(stream, 1)
	service.Hub.Publish(listen.Change{Keys: []string{"file:///a"}})
	client.write(stream, 1)
	installed <- struct{}{}
	client.write(stream, 1)
	stream.Cancel()
	fmt.Println(service.Hub.Shutdown(context.Background()))
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}}}
	// {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"uri":"file:///a"}}
	// {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
	// <nil>
}
