package client_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcp-fsserve/mcp-fsserve/client"
)

// A client that keeps a copy of whatever is listed.
func Example() {
	server := newShelf()
	defer server.close()
	server.write("monday", "tidy up")

	c := client.New(client.URL(server.url()), client.Want{Listed: true, Read: true}, nil)
	defer running(c)() // c.Run, until the end of the example

	next := func() client.Event {
		e, err := c.Next(context.Background())
		if err != nil {
			panic(err)
		}
		return e
	}
	fmt.Println(next().Kind)
	for _, r := range c.Resources() {
		contents, err := c.Contents(r.URI)
		fmt.Printf("%s: %s %v\n", r.URI, contents[0].Data, err)
	}

	server.write("tuesday", "rest") // a new one is told when its changes are, too
	e := next()
	fmt.Printf("%s %s: %s\n", e.Kind, e.URI, e.Contents[0].Data)
	server.write("tuesday", "paint")
	e = next()
	fmt.Printf("%s %s: %s\n", e.Kind, e.URI, e.Contents[0].Data)

	// Output:
	// live
	// note:///monday: tidy up <nil>
	// added note:///tuesday: rest
	// updated note:///tuesday: paint
}

// What happened while there was no connection is told after the next one.
func ExampleClient_Next() {
	server := newShelf()
	defer server.close()
	server.write("monday", "tidy up")

	want := client.Want{List: true, URIs: []string{"note:///monday"}}
	c := client.New(client.URL(server.url()), want, nil)
	defer running(c)()

	for {
		e, err := c.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e.Kind {
		case client.Live:
			fmt.Println("live:", e.Listed, "listed,", e.Followed, "followed")
			if e.Listed == 1 {
				server.breakDown(func() {
					server.write("monday", "paint")
					server.write("tuesday", "rest")
				})
			}
		case client.Lost: // e.Err says why; it is tried again after e.Retry
		case client.Updated:
			fmt.Println("updated", e.URI)
		case client.Added:
			fmt.Println("added", e.URI)
			return
		}
	}

	// Output:
	// live: 1 listed, 1 followed
	// live: 2 listed, 1 followed
	// updated note:///monday
	// added note:///tuesday
}

// What is followed can change at any time. Nothing of what stays is missed.
func ExampleClient_Set() {
	server := newShelf()
	defer server.close()

	c := client.New(client.URL(server.url()), client.Want{URIs: []string{"note:///monday"}}, nil)
	defer running(c)()

	next := func() client.Event {
		e, err := c.Next(context.Background())
		if err != nil {
			panic(err)
		}
		return e
	}
	fmt.Println(next().Kind)
	if err := c.Set(client.Want{URIs: []string{"note:///monday", "note:///friday"}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(next().Kind) // friday is followed from now on
	server.write("friday", "go out")
	e := next()
	fmt.Println(e.Kind, e.URI)

	// Output:
	// live
	// live
	// updated note:///friday
}

// A filter may have members that only the server knows.
func ExampleWant_extensions() {
	want := client.Want{
		List:       true,
		Extensions: map[string]json.RawMessage{"com.example/ticks": json.RawMessage(`{"everySeconds":5}`)},
	}
	c := client.New(client.Command("some-server", "--ticking"), want, nil)
	_ = c // what the server sends is told as an Event of kind Notification
}
