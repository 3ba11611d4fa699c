package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// tiny is a run that shows that each measure can be taken, and no more.
var tiny = scale{rounds: 1, connections: 2, while: 20 * time.Millisecond, listens: []int{20}, idle: 10 * time.Millisecond, idleAt: 20,
	deliveries: 1, trees: []int{1000, 2500}, flat: 1500, reads: 200, starts: 1, saves: 2, storm: 2, huge: 2 << 20}

// newBench makes a run of little on a directory of the test, with the product and other servers.
func newBench(t *testing.T, servers string) (*bench, []peer) {
	t.Helper()
	peers, leftOut, err := preparePeers(t.Context(), t.TempDir(), wanted{servers: servers})
	if err != nil || len(leftOut) > 0 {
		t.Fatal(err, leftOut)
	}
	b := &bench{scale: tiny, log: io.Discard, dir: t.TempDir(), scratch: t.TempDir(), alone: true, resident: map[string]int64{}}
	if err := makeFixture(b.dir, tiny.huge); err != nil {
		t.Fatal(err)
	}
	if b.cores, err = divideCores(); err != nil {
		t.Fatal(err)
	}
	b.cores.load = b.cores.all // the tests of one process are not pinned
	if b.descriptors, err = moreDescriptors(); err != nil {
		t.Fatal(err)
	}
	b.sheet = newSheet(peers)
	return b, peers
}

// Every measure of every server yields a figure that can be true, and none is left out without a word.
func TestEachMeasureOfEachServer(t *testing.T) {
	servers := "go-sdk,mcp-go,files,copied"
	if exists("servers/typescript/node_modules") {
		servers += ",typescript"
	}
	b, peers := newBench(t, servers)
	b.log = t.Output()
	if err := b.measure(t.Context(), peers); err != nil {
		t.Fatal(err)
	}
	for _, note := range b.sheet.notes {
		if !strings.Contains(note, "it announces a change of the list instead") {
			t.Errorf("not measured: %s", note)
		}
	}
	counts := map[string]int{} // rows of each table by server
	for _, r := range b.sheet.rows {
		for server, values := range b.sheet.values[r] {
			counts[r.Table]++
			// What nobody asks for may take no time that the clock shows, memory may even be given back, and how many streams
			// a stalled one holds up is the server's own affair.
			may := r.Unit == "MB" || r.Unit == "kB" || r.Unit == "B" || r.Unit == "% CPU" || r.Unit == "streams"
			for _, v := range values {
				if v <= 0 && !may || v > 1e7 {
					t.Errorf("%s: %s of %s is %v %s", r.Table, r.Name, server, v, r.Unit)
				}
			}
		}
	}
	for _, s := range []string{requestsTable, "Listens over HTTP/1.1", waysTable, "Requests beside listens", "One reader of 200 takes nothing", stdioTable, growthTable} {
		if counts[s] == 0 {
			t.Errorf("nothing was measured of %q", s)
		}
	}
}

// What one way leaves behind in this process does not keep another from being measured after it.
func TestEachWayIsMeasuredInEachRound(t *testing.T) {
	b, peers := newBench(t, "none")
	b.log, b.only, b.scale.rounds = t.Output(), []string{"ways"}, 2
	if err := b.measure(t.Context(), peers); err != nil {
		t.Fatal(err)
	}
	if len(b.sheet.notes) > 0 || len(b.sheet.rows) < 2*len(ways) {
		t.Errorf("%d figures, and not measured: %q", len(b.sheet.rows), b.sheet.notes)
	}
	for _, r := range b.sheet.rows {
		if n := len(b.sheet.values[r][peers[0].name]); n != 2 {
			t.Errorf("%s was measured %d times", r.Name, n)
		}
	}
}

func TestAnAnswerThatIsNotTheFileIsNotMeasured(t *testing.T) {
	b, peers := newBench(t, "none")
	p := peers[0]
	ch, endpoint, err := b.serveHTTP(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.end()
	for _, d := range []demand{
		{"", "too short", read(smallFile), "", isText(1<<10 - 1)},
		{"", "absent", read("absent.txt"), "", isText(0)},
	} {
		if err := d.check(t.Context(), p, endpoint, d.request(p, endpoint)); err == nil {
			t.Errorf("an answer that is %s passes", d.row)
		}
	}
}

func TestCPUTimeOfAnotherProcess(t *testing.T) {
	busy := exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo; read end")
	in, err := busy.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := busy.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	took, err := cpuTime(busy.Process.Pid)
	_ = in.Close()
	_ = busy.Wait()
	if err != nil {
		t.Fatal(err)
	}
	used := busy.ProcessState.UserTime() + busy.ProcessState.SystemTime()
	// The two clocks of the kernel are not the same, but count the same.
	if took <= 0 || took > used+20*time.Millisecond || took < used/2 {
		t.Errorf("the clock says %v, the kernel at the end %v", took, used)
	}
}

func TestBodiesInChunksEndWithTheirEmptyLine(t *testing.T) {
	inChunks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{"data: {}\n\n", "data: {\"last\":true}\n\n"} {
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer inChunks.Close()
	server, err := url.Parse(inChunks.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial(t.Context(), server, nil, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 { // on one connection
		r, err := c.ask([]byte("GET / HTTP/1.1\r\nHost: " + server.Host + "\r\n\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		said, err := r.all()
		if err != nil || string(said) != `{"last":true}` {
			t.Fatalf("the answer is %q, %v", said, err)
		}
	}
}

// The tables have medians, and how many times the first server's they are.
func TestTables(t *testing.T) {
	s := newSheet([]peer{{name: "ours"}, {name: "other"}, {name: "silent"}})
	r := row{"Requests", "read", "µs"}
	for _, v := range []float64{30, 10, 20} {
		s.add(r, "ours", v)
		s.add(r, "other", 4*v)
	}
	s.add(row{"Requests", "list", "µs"}, "ours", 2)
	s.add(row{"Requests", "list", "µs"}, "other", 480)
	s.note("something of %s", "silent")
	s.note("something of %s", "silent")
	var text strings.Builder
	s.write(&text)
	const want = `
### Requests

| | ours | other |
|---|---:|---:|
| read, µs | 20.0 | 80.0 (4x) |
| list, µs | 2.00 | 480 (240x) |

Not in the tables:

- something of silent
`
	if text.String() != want {
		t.Errorf("the tables are\n%s\nwant\n%s", &text, want)
	}
}

func TestCommandLine(t *testing.T) {
	for _, wrong := range []struct {
		args []string
		says string
	}{
		{[]string{"-only", "reeds"}, `no measure is called "reeds": there are requests`},
		{[]string{"-ours", "/no/program"}, "there is no program /no/program"},
		{[]string{"-ours", os.Args[0], "-servers", "apache"}, `no such server "apache": there are go-sdk`},
	} {
		if err := run(t.Context(), wrong.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%v: %v, want %q", wrong.args, err, wrong.says)
		}
	}
}

// Two builds of the product are measured beside each other, and every value is there as JSON.
func TestTwoBuildsAsJSON(t *testing.T) {
	bin := t.TempDir()
	if err := build(t.Context(), "..", bin, "./cmd/mcp-fsserve"); err != nil {
		t.Fatal(err)
	}
	b := &bench{scale: tiny, only: []string{"discover"}, log: io.Discard, resident: map[string]int64{}}
	b.scale.rounds = 2
	var out strings.Builder
	built := bin + "/mcp-fsserve"
	if err := b.run(context.WithoutCancel(t.Context()), wanted{ours: "a=" + built + ",b=" + built, servers: "none"}, &out, "", true); err != nil {
		t.Fatal(err)
	}
	var said struct {
		Values []struct {
			Name, Server string
			Rounds       []float64
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &said); err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	for _, v := range said.Values {
		servers[v.Server] = true
		if !strings.HasPrefix(v.Name, "server/discover: ") || len(v.Rounds) != 2 {
			t.Errorf("%+v, want two rounds of discover alone", v)
		}
	}
	if len(servers) != 2 || !servers["a"] || !servers["b"] {
		t.Errorf("measured: %v, want a and b", servers)
	}
}
