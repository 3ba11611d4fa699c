package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestThousandNewFilesAreAFewChangesOfTheList makes files while a client does what clients do: walk the whole list
// again whenever it has changed. It must end with the whole list, after at most one change at once and one for
// each 500 ms that it took.
func TestThousandNewFilesAreAFewChangesOfTheList(t *testing.T) {
	const files = 1000
	w := startWire(t, serving(t.TempDir()))
	w.send(w.expand(`{"jsonrpc":"2.0","id":"list","method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true},$META}}`))
	w.next(nil)
	start := time.Now()
	made := make(chan error, 1)
	go func() {
		for i := range files {
			if err := os.WriteFile(filepath.Join(w.dir, fmt.Sprintf("%04d.txt", i)), nil, 0o666); err != nil {
				made <- err
				return
			}
		}
		made <- nil
	}()
	changes, walked, listed := 0, 0, 0
	for listed < files {
		if changes == walked { // else the list changed during the walk, behind it perhaps
			w.nextChange()
			changes++
		}
		walked = changes
		listed = w.countListed(&changes)
	}
	must(t, <-made)
	if most := 2 + int(time.Since(start)/(500*time.Millisecond)); changes > most {
		t.Errorf("%d changes of the list in %v, at most %d wanted", changes, time.Since(start), most)
	}
	must(t, w.in.Close())
	w.untilEnd()
}

func (w *wireEnd) nextChange() {
	w.t.Helper()
	if frame := w.next(nil); !strings.Contains(frame, "list_changed") {
		w.t.Fatalf("the server sent %s", frame)
	}
}

// countListed walks the list and returns its length; changes counts the notifications that come meanwhile.
func (w *wireEnd) countListed(changes *int) (listed int) {
	cursor := ""
	for {
		w.send(w.expand(`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{` + cursor + `$META}}`))
		frame := w.next(nil)
		for strings.Contains(frame, "list_changed") {
			*changes++
			frame = w.next(nil)
		}
		var answer struct {
			Result struct {
				Resources  []json.RawMessage
				NextCursor string
			}
		}
		must(w.t, json.Unmarshal([]byte(frame), &answer))
		if answer.Result.Resources == nil {
			w.t.Fatalf("the server answered %s", frame)
		}
		listed += len(answer.Result.Resources)
		if answer.Result.NextCursor == "" {
			return listed
		}
		cursor = `"cursor":"` + w.expand(answer.Result.NextCursor) + `",`
	}
}
