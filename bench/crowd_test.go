package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A stream counts once for each change, whatever it is told besides and however often; one that the server ends is told of.
func TestStreamsAreCountedOnceForEachChange(t *testing.T) {
	const said = `data: {"method":"notifications/resources/updated","params":{"uri":"test://watched.md"}}` + "\n\n"
	const n = 2
	joined := make(chan chan string, n) // for each stream what it is to say; "" ends it
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["test://watched.md"]}}}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		changed := make(chan string)
		joined <- changed
		for text := range changed {
			if text == "" {
				return
			}
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer server.Close()
	endpoint, err := url.Parse(server.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, watchedFile), []byte("version 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := openCrowd(t.Context(), peer{}, endpoint, n, watchedAlone)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	streams := []chan string{<-joined, <-joined}
	other := strings.ReplaceAll(said, "watched", "another")
	for range 3 {
		go func() {
			for _, changed := range streams {
				changed <- other + said + said
			}
		}()
		took, err := c.tell(t.Context(), dir, n, 10*time.Second)
		if err != nil || len(took) != n {
			t.Fatalf("%d of %d were told, %v", len(took), n, err)
		}
		if told, _ := os.ReadFile(filepath.Join(dir, watchedFile)); !strings.HasPrefix(string(told), "version ") {
			t.Errorf("the file is %q", told)
		}
	}
	if c.losses() != "" {
		t.Errorf("nothing is lost yet, but%s", c.losses())
	}
	took, err := c.tell(t.Context(), dir, n, 50*time.Millisecond)
	if err != nil || len(took) != 0 {
		t.Errorf("%d were told that nobody told, %v", len(took), err)
	}
	for _, changed := range streams {
		changed <- ""
	}
	c.reading.Wait()
	if !strings.Contains(c.losses(), "2 streams have ended") {
		t.Errorf("all streams were ended, but%q", c.losses())
	}
}

// What is delivered to the listens of a server that tells of changes of the list alone is said wherever they are measured.
func TestListensThatAreToldOfTheListAreNamed(t *testing.T) {
	for _, measure := range []string{"listens", "beside", "stalled"} {
		b, peers := newBench(t, "mcp-go")
		b.only = measures{measure}
		if err := b.measure(t.Context(), peers[1:]); err != nil {
			t.Fatal(err)
		}
		if text := b.sheet.text(); !strings.Contains(text, "of mcp-go are never told that a file has changed") {
			t.Errorf("%s: the tables are %s", measure, text)
		}
	}
}

func TestSoManyURIsAreAskedFor(t *testing.T) {
	for _, p := range []peer{{}, {lists: true}} {
		for n := 1; n <= urisOfEach; n++ {
			if said := p.listen(inAll(n)(3)).encode(1); bytes.Count(said, []byte(`"`+uriBase)) != n {
				t.Errorf("of %d URIs it asks for %s", n, said)
			}
		}
	}
}
