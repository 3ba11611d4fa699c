package transport

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// A client that keeps asking for large answers hears of a change after the answer that is being written and one more.
func TestLargeAnswersDoNotSilenceStreams(t *testing.T) {
	for _, size := range []int{burst / 2, burst - 1, burst, piece - 1<<10} {
		synctest.Test(t, func(t *testing.T) {
			const each = 10 * time.Millisecond // a write
			c := connect(t, nil, newFakeCatalogue())
			c.cat.contents["test://top/large"] = mcp.Contents{MIMEType: "text/plain", Data: bytes.Repeat([]byte("x"), size), Text: true}
			c.send(listenTo(`"l"`, onlyA))
			c.frames()
			c.out.mu.Lock()
			c.out.pause = each
			c.out.mu.Unlock()
			var lines strings.Builder
			for i := range 30 {
				lines.WriteString(read(fmt.Sprint(i), "test://top/large") + "\n")
			}
			if _, err := io.WriteString(c.in, lines.String()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for round := range 3 {
				c.frames()
				c.hub.Publish(listen.Change{Keys: []string{a}})
				after(3 * each)
				if !strings.Contains(strings.Join(raws(c.frames()), "\n"), updated(`"l"`, a)) {
					t.Errorf("answers of %d bytes silence the stream in round %d", size, round)
				}
				after(5 * each)
			}
			c.close()
		})
	}
}

func TestQueueKeepsOrderAndForgetsWhatIsTakenOut(t *testing.T) {
	var q queue[int]
	links := make([]link[int], 100)
	for i := range links {
		q.push(&links[i], i)
	}
	for i := range links {
		if i%3 != 0 {
			links[i].remove()
			links[i].remove() // is not there any more
		}
	}
	q.push(&links[1], 1)
	for _, want := range append(multiplesOf3(100), 1) {
		got, ok := q.first()
		if !ok || got != want || !links[got].queued() {
			t.Fatalf("got %d, %v, want %d", got, ok, want)
		}
		links[got].remove()
		if links[got].queued() {
			t.Error("still there")
		}
	}
	if got, ok := q.first(); ok {
		t.Errorf("left over: %d", got)
	}
}

func multiplesOf3(below int) (all []int) {
	for i := 0; i < below; i += 3 {
		all = append(all, i)
	}
	return all
}
