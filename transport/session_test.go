package transport

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/listen"
)

// FuzzSession sends whole sessions of random lines: they never panic or hang, every line written is valid, and each
// well-formed request that is not cancelled is answered exactly once.
func FuzzSession(f *testing.F) {
	f.Add(uint64(1), "")
	f.Add(uint64(2), "nonsense\n"+modern("1", "server/discover", "")+"\n{}\n[]")
	f.Add(uint64(3), initialize("1", "2025-03-26")+"\n["+legacy("2", "ping", "")+","+legacy("3", "resources/read", `"uri":"`+a+`"`)+"]")
	f.Add(uint64(4), listenTo("1", onlyA)+"\n"+cancel("1")+"\n"+listenTo("1", onlyA))
	f.Fuzz(func(t *testing.T, seed uint64, extra string) {
		synctest.Test(t, func(t *testing.T) { randomSession(t, rand.New(rand.NewPCG(seed, 7)), extra) })
	})
}

func TestRandomSessions(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) { randomSession(t, rand.New(rand.NewPCG(seed, 7)), "") })
	}
}

func randomSession(t *testing.T, rng *rand.Rand, extra string) {
	cat := newFakeCatalogue()
	gate := make(chan struct{})
	cat.block["test://top/slow"] = gate
	cat.deaf = rng.IntN(4) == 0
	c := connect(t, &Options{MaxInFlight: 1 + rng.IntN(8), MaxLine: 2000}, cat)

	pick := func(values ...string) string { return values[rng.IntN(len(values))] }
	next := 0
	owed := map[string]bool{}      // requests to be answered once, as they are unique
	cancelled := map[string]bool{} // requests that may be answered once
	refused := map[string]bool{}   // requests in refused batches, answered together by one error without an id
	refusals := 0                  // such batches
	batches := false               // the latest session has them
	var asked []string             // all requests
	id := func() string {
		next++
		if rng.IntN(2) == 0 {
			return fmt.Sprintf(`"r%d"`, next)
		}
		return fmt.Sprint(next + 1<<40)
	}
	uri := func() string {
		return pick(a, b, "test://top/none", "test://top/slow", "test://top/dir/", "other://x")
	}
	request := func(id string) string {
		return pick(
			modern(id, "server/discover", ""),
			modern(id, "resources/list", pick("", `,"cursor":"p2"`, `,"cursor":1`)),
			modern(id, "resources/templates/list", ""),
			modern(id, "completion/complete", pick("", ","+completing("a%"))),
			read(id, uri()), read(id, uri()), read(id, uri()),
			listenTo(id, `"resourceSubscriptions":["`+uri()+`","`+uri()+`"]`),
			listenTo(id, pick(`"resourcesListChanged":true`, "", `"toolsListChanged":1`)),
			modern(id, pick("ping", "nonsense", "initialize"), ""),
			initialize(id, pick("2025-03-26", "2025-11-25", "x")),
			legacy(id, pick("ping", "tools/list", "resources/list", "nonsense", "resources/subscribe"), ""),
			legacy(id, "completion/complete", completing("")),
			legacy(id, pick("resources/subscribe", "resources/unsubscribe", "resources/read"), `"uri":"`+uri()+`"`),
			`{"jsonrpc":"2.0","id":`+id+`,"method":"x","params":[]}`,
		)
	}
	fresh := func() string {
		id := id()
		owed[id] = true
		asked = append(asked, id)
		return request(id)
	}
	junk := func() string {
		whole := request(`"junk"`)
		for strings.Contains(whole, "initialize") { // or it would decide about batches
			whole = request(`"junk"`)
		}
		line := []byte(whole)
		switch rng.IntN(3) {
		case 0:
			return string(line[:rng.IntN(len(line))])
		case 1:
			line[rng.IntN(len(line))] = byte(rng.IntN(256))
			return strings.ReplaceAll(string(line), "\n", "")
		default:
			return pick("", "7", "{}", "[]", "[[]]", "null", `{"jsonrpc":"2.0","id":null,"method":"x"}`, strings.Repeat("x", 3000), "\xff", "[1")
		}
	}
	for range 5 + rng.IntN(40) {
		var line string
		switch rng.IntN(10) {
		case 0:
			line = junk()
			if line == "[[]]" && !batches {
				refusals++
			}
		case 1, 2:
			if len(asked) > 0 {
				victim := asked[rng.IntN(len(asked))]
				line = cancel(victim)
				if !refused[victim] {
					delete(owed, victim)
					cancelled[victim] = true
				}
			}
		case 3:
			inside := []string{fresh(), fresh()}
			if !batches {
				refusals++
				for _, id := range asked[len(asked)-2:] {
					delete(owed, id)
					refused[id] = true
				}
			}
			line = `[` + strings.Join(inside, ",") + `,` + pick("7", cancel("5"), `{"jsonrpc":"2.0","id":1,"result":{}}`) + `]`
			if !strings.Contains(line, `"2.0"`) || len(line) > 2000 {
				t.Fatal("a batch above the limit of a line")
			}
		case 4:
			c.hub.Publish(listen.Change{Keys: []string{uri(), uri()}, List: rng.IntN(2) == 0})
		default:
			line = fresh()
			if strings.Contains(line, `"initialize","params":{"protocolVersion"`) {
				batches = strings.Contains(line, "2025-03-26")
			}
		}
		if _, err := io.WriteString(c.in, line+pick("\n", "\r\n", "\n\n")); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(4) == 0 {
			synctest.Wait()
		}
	}
	if _, err := io.WriteString(c.in, extra); err != nil {
		t.Fatal(err)
	}
	close(gate)
	start := time.Now()
	c.close()
	if d := time.Since(start); d != 0 {
		t.Errorf("leaving took %v although nothing is blocked", d)
	}
	if c.hub.Len() != 0 {
		t.Errorf("%d streams are left", c.hub.Len())
	}

	answers := map[string]int{}
	refusedBatches := 0 // by their errors
	for _, f := range c.frames() {
		all := []frame{f}
		if f.raw[0] == '[' {
			if err := json.Unmarshal([]byte(f.raw), &all); err != nil || len(all) == 0 {
				t.Fatalf("%v: %q", err, f.raw)
			}
		}
		for _, f := range all {
			switch {
			case f.Method != "":
				if f.ID != nil || f.Result != nil || f.Error != nil {
					t.Errorf("not a notification: %s", f.raw)
				}
			case (f.Result == nil) == (f.Error == nil):
				t.Errorf("neither a result nor an error: %s", f.raw)
			case f.Error != nil && (f.Error.Message == "" || strings.Contains(f.Error.Message, "secret")):
				t.Errorf("message: %s", f.raw)
			default:
				if f.ID == nil && strings.Contains(f.raw, "batches exist") {
					refusedBatches++
				}
				answers[string(f.ID)]++
			}
		}
	}
	for id := range owed {
		if n := answers[id]; n != 1 {
			t.Errorf("request %s was answered %d times", id, n)
		}
	}
	for id := range refused {
		if n := answers[id]; n != 0 {
			t.Errorf("request %s of a refused batch was answered %d times", id, n)
		}
	}
	for id := range cancelled {
		if answers[id] > 1 {
			t.Errorf("cancelled request %s was answered %d times", id, answers[id])
		}
	}
	if refusedBatches < refusals || refusedBatches > refusals && extra == "" {
		t.Errorf("%d batches were refused instead of %d", refusedBatches, refusals)
	}
}

func FuzzMessage(f *testing.F) {
	for _, line := range []string{
		modern("1", "server/discover", ""), listenTo("1", onlyA), initialize("1", "2025-06-18"), read(`"x"`, a), cancel("1"), "{}", `[{}]`, "\xff",
	} {
		f.Add(line)
	}
	s := NewServer(newFakeCatalogue(), listen.NewHub(nil), nil)
	f.Fuzz(func(t *testing.T, line string) {
		m, failure := jsonrpc.Parse([]byte(line))
		if failure != nil || !m.IsRequest() {
			return
		}
		for _, session := range []*session{nil, {version: "2025-03-26"}} {
			r, err := s.route(&m, origin{session: session})
			var answer []byte
			switch {
			case err != nil:
				answer = s.refuse(t.Context(), nil, m.ID, err, r.modern)
			case r.method.kind == inline || r.method.kind == slow:
				answer, _ = s.respond(t.Context(), &r, nil)
			default:
				continue
			}
			if !json.Valid(answer) || strings.ContainsAny(string(answer), "\n\r") {
				t.Errorf("answer %q", answer)
			}
		}
	})
}

// The era of a request that is refused is known: a transport maps its status by it.
func TestEraOfWhatIsRefused(t *testing.T) {
	s := NewServer(newFakeCatalogue(), listen.NewHub(nil), nil)
	old := &session{version: "2025-11-25"}
	for _, test := range []struct {
		line   string
		o      origin
		modern bool
	}{
		{strings.Replace(modern("1", "resources/list", ""), "2026-07-28", "2099-01-01", 1), origin{}, true},
		{strings.Replace(modern("1", "resources/list", ""), `"2026-07-28"`, "7", 1), origin{session: old}, true},
		{legacy("1", "resources/list", `"_meta":{"io.modelcontextprotocol/clientInfo":{}}`), origin{session: old}, true},
		{modern("1", "nonsense", ""), origin{}, true},
		{legacy("1", "subscriptions/listen", ""), origin{session: old}, true},
		{legacy("1", "server/discover", `"_meta":7`), origin{}, true},
		{legacy("1", "server/discover", `"a":1,"a":2`), origin{}, true},
		{legacy("1", "resources/list", `"_meta":7`), origin{modern: true}, true},
		{legacy("1", "resources/list", ""), origin{modern: true}, true},
		{legacy("1", "resources/list", `"_meta":7`), origin{session: old}, false},
		{legacy("1", "nonsense", ""), origin{session: old}, false},
		{legacy("1", "resources/list", ""), origin{}, false},
	} {
		m, _ := jsonrpc.Parse([]byte(test.line))
		r, err := s.route(&m, test.o)
		if err == nil || r.modern != test.modern {
			t.Errorf("%s: modern is %v, %v", test.line, r.modern, err)
		}
	}
}
