package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// TestAnErrorIsEncodedAsByItsTags: what is written by hand is what encoding/json makes of the struct.
func TestAnErrorIsEncodedAsByItsTags(t *testing.T) {
	for _, e := range []*Error{
		Errorf(InternalError, "internal error"),
		Errorf(ParseError, "<&> \"quoted\" \\ \t\n \x00 ünï €"),
		{Code: 7},
		{Code: -32022, Message: "no", Data: map[string]any{"supported": []string{"<a>"}, "n": 1}},
		{Code: 1, Message: "data", Data: 0},
		{Code: 1, Message: "data", Data: (*int)(nil)},
	} {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(e); err != nil {
			t.Fatal(err)
		}
		if got := string(e.Encode()) + "\n"; got != want.String() {
			t.Errorf("%#v is encoded as %s, not as %s", e, got, want.String())
		}
	}
}

// TestDataThatCannotBeEncodedIsLeftOut: the code and the message still reach the client.
func TestDataThatCannotBeEncodedIsLeftOut(t *testing.T) {
	for _, data := range []any{func() {}, failing{}, json.RawMessage("\"\xff\"")} {
		e := &Error{Code: 1, Message: "no", Data: data}
		if got, want := string(e.Encode()), `{"code":1,"message":"no"}`; got != want {
			t.Errorf("data %#v: %s, not %s", data, got, want)
		}
	}
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

// TestAnErrorWithoutDataIsEncodedWithoutReflection: of that a process has tables for each type, from the first use on.
func TestAnErrorWithoutDataIsEncodedWithoutReflection(t *testing.T) {
	e := Errorf(InternalError, "internal error: the server's log has the cause")
	if n := testing.AllocsPerRun(100, func() { e.Encode() }); n > 1 {
		t.Errorf("%v allocations, where the answer itself is one", n)
	}
}
