package wire

import (
	"strings"
	"testing"
)

func TestMessagesAreJudgedByTheirEnvelope(t *testing.T) {
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                               "",
		` {"jsonrpc":"2.0","id":1.5,"result":null} `:                         "", // whoever asked compares ids and reads results
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`: "",
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                           "",
		`{"jsonrpc":"2.0","method":"a","params":[]}`:                         "",
		`{"jsonrpc":"2.0","id":1}`:                                           "one of method, result and error must be there",
		`{"jsonrpc":"2.0","method":"a","result":{}}`:                         "one of method, result and error must be there",
		`{"jsonrpc":"1.0","method":"a"}`:                                     `jsonrpc is not "2.0"`,
		`{"method":"a"}`:                                                     `jsonrpc is not "2.0"`,
		`{"jsonrpc":"2.0","method":""}`:                                      "method is not a non-empty string",
		`{"jsonrpc":"2.0","method":5}`:                                       "method is not a non-empty string",
		`{"jsonrpc":"2.0","id":1,"error":"no"}`:                              "error is not an object with a code and a message",
		`{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`:                      "error is not an object with a code and a message",
		`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`:                        `"id" occurs twice`,
		`"text"`: "not an object",
		"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}": "not valid UTF-8",
		"[]": "the batch is empty",
		"[1": "the batch is not valid JSON",
	} {
		events := take([]byte(text))
		if len(events) != 1 {
			t.Fatalf("%s: %d events", text, len(events))
		}
		e := events[0]
		switch {
		case want == "":
			if e.Message == nil || e.Err != nil || string(e.Message.Raw) != strings.TrimSpace(text) {
				t.Errorf("%s: %+v", text, e)
			}
		case e.Err == nil || e.Err.(*FrameError).Reason != want:
			t.Errorf("%s: %v, want %s", text, e.Err, want)
		}
	}
}

// What a batch holds is handed over however much that is: a change that is left out is lost.
func TestABatchMayBeLong(t *testing.T) {
	text := "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"a"}, `, 10_000) + "5]"
	events := take([]byte(text))
	if len(events) != 10_001 {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events[:10_000] {
		if e.Message == nil || e.Message.Method != "a" {
			t.Fatalf("the message at %d: %+v", i, e)
		}
	}
	if last := events[10_000]; last.Err == nil {
		t.Errorf("the last: %+v", last)
	}
}

// Whose answer is too long is seen wherever the server puts the id.
func TestTheIDOfWhatIsTooLongIsSeen(t *testing.T) {
	big := `"result":{"contents":[{"text":"` + strings.Repeat(`\"id\":9,`, 100_000) + `"}]}`
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":17,` + big + `}`:                 "17",
		`{"id":17,` + big + `,"jsonrpc":"2.0"}`:                 "17",
		`{` + big + `,"jsonrpc":"2.0","id":17}`:                 "17",
		`{"jsonrpc":"2.0",` + big + `,"id": 17 }`:               "17",
		`{"jsonrpc":"2.0","method":"m","params":{` + big + `}}`: "",
	} {
		for _, limit := range []int{300, len(text) - 1} {
			lines := newLineReader(strings.NewReader(text+"\nnext\n"), limit)
			line, long, err := lines.next()
			if err != nil || !long {
				t.Fatal(long, err)
			}
			if got := tooLong(line, lines.tail, limit); string(got.ID) != want || !got.TooLong {
				t.Errorf("%.40s: the id is %q, want %q", text, got.ID, want)
			}
			if line, long, err = lines.next(); string(line) != "next" || long || err != nil {
				t.Errorf("then %q, %v, %v", line, long, err)
			}
		}
	}
}
