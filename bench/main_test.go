package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// asServer has the binary of the tests be a server on standard input and output, which answers as its value says.
const asServer = "BENCH_TEST_SERVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(asServer); how != "" {
		answerLines(how)
		return
	}
	os.Exit(m.Run())
}

// answerLines answers every request: with the small file so many times, and with errors later; after so many notifications.
func answerLines(how string) {
	var right, before int
	if _, err := fmt.Sscanf(how, "right %d times, after %d", &right, &before); err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for n := 0; in.Scan(); n++ {
		_, id, _ := strings.Cut(in.Text(), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		for range before {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://small.txt"}}`)
		}
		if n < right {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":"test://small.txt","text":%q}]}}`+"\n", id, smallContent)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no more"}}`+"\n", id)
	}
}
