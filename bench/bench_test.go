package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// tiny is a run that shows that each measure can be taken, and no more.
var tiny = scale{rounds: 1, connections: 2, rate: 1000, while: 20 * time.Millisecond, listens: []int{20}, idle: 10 * time.Millisecond, deliveries: 1,
	trees: []int{1000, 2500}, flat: 1500, uris: []int{1, 3}, urisAt: 10, changes: []int{1, 40}, bursts: 1,
	reads: 200, starts: 1, saves: 2, newFiles: 1, storm: 2, huge: 2 << 20, patience: time.Minute}

// newBench makes a run of little on a directory of the test, with the product and other servers.
func newBench(t *testing.T, servers string) (*bench, []peer) {
	t.Helper()
	peers, leftOut, err := preparePeers(t.Context(), t.TempDir(), wanted{servers: servers, source: "."}, nil)
	if err != nil || len(leftOut) > 0 {
		t.Fatal(err, leftOut)
	}
	b := &bench{scale: tiny, log: io.Discard, dir: t.TempDir(), scratch: t.TempDir(), alone: true}
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
	servers := "go-sdk,mcp-go,files,copied,loop"
	if exists("servers/typescript/node_modules") {
		servers += ",typescript"
	}
	b, peers := newBench(t, servers)
	b.log = t.Output()
	if err := b.measure(t.Context(), peers); err != nil {
		t.Fatal(err)
	}
	for _, f := range b.sheet.failures {
		t.Errorf("not measured: %s", f)
	}
	counts := map[string]int{} // rows of each table by server
	for _, r := range b.sheet.rows {
		for server, values := range b.sheet.values[r] {
			counts[r.Table]++
			// What nobody asks for may take no time that the clock shows, memory may even be given back, and how many streams
			// a stalled one holds up is the server's own affair.
			// What a file of a small tree adds, or a URI of a few listens, is less than what one start differs from the next.
			may := r.Unit == "MB" || r.Unit == "kB" || r.Unit == "B" || r.Unit == "% CPU" || r.Unit == streamsTold || strings.HasSuffix(r.Name, "of each file") || strings.HasPrefix(r.Name, "each URI more")
			for _, v := range values {
				if v <= 0 && !may || v > 1e7 {
					t.Errorf("%s: %s of %s is %v %s", r.Table, r.Name, server, v, r.Unit)
				}
			}
		}
	}
	for _, s := range []string{requestsTable, listensTable, waysTable, besideTable, stalledTable, stdioTable, filesTable, crowdTable, urisTable, changesTable} {
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
		{row: "another text", ask: read(smallFile), expect: isText(prose(1<<10 - 1))},
		{row: "no text", ask: read(smallFile), expect: isBlob(smallContent)},
		{row: "absent", ask: read("absent.txt"), expect: isText(nil)},
		{row: "of a small directory", ask: read(smallFile), expect: isFirstPage},
		{row: "of another revision", ask: list(""), expect: speaksRevision},
	} {
		if _, err := d.check(t.Context(), p, endpoint, d.request(p, endpoint)); err == nil {
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
		said, _, err := r.all()
		if err != nil || string(said) != `{"last":true}` {
			t.Fatalf("the answer is %q, %v", said, err)
		}
	}
}

// What is wrong is said before anything is measured, and a file for the tables is neither made nor changed by then.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	old, new := filepath.Join(dir, "old.md"), filepath.Join(dir, "new.md")
	if err := os.WriteFile(old, []byte("tables"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct {
		args string
		says string
	}{
		{"-only=", `no measure is called "": there are requests`},
		{"-only reeds", `no measure is called "reeds": there are requests`},
		{"-ours /no/program", "there is no program /no/program"},
		{"-ours .", "there is no program ."},
		{"-ours a=run -servers none", "bench/run"},
		{"-only growth,ways -servers mcp-go,go-sdk", "of mcp-go nothing is measured that -only names"},
		{"-servers apache", `no such server "apache": there are go-sdk`},
		{"quick", `"quick" is no flag`},
		{"-fast", "flag provided but not defined: -fast (-help names the flags)"},
		{"-rounds 0", `"0" is no number from 1 to`},
		{"-rounds -3", `"-3" is no number from 1 to`},
		{"-connections x", `"x" is no number from 1 to`},
		{"-files 1000,", `"" is no number from 1 to`},
		{"-files 1000,0", `"0" is no number from 1 to`},
		{"-listens 1e3", `"1e3" is no number from 1 to`},
		{"-uris 1001", `"1001" is no number from 1 to 1000`},
		{"-while 1ns", `"1ns" is no time from 10ms to 1m`},
		{"-o /no/directory/tables.md", "-o: "},
		{"-o " + old + " -servers apache", "no such server"},
		{"-o " + new, "there is no program"},
	} {
		args := append([]string{"-ours", "/no/program"}, strings.Fields(wrong.args)...) // nothing is measured if it passes
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%s: %v, want %q", wrong.args, err, wrong.says)
		}
	}
	if text, err := os.ReadFile(old); string(text) != "tables" {
		t.Errorf("what there was is %q, %v", text, err)
	}
	if exists(new) {
		t.Error("a file is left of tables that there are not")
	}
}

func TestWhatTheCommandLineSays(t *testing.T) {
	o, err := parse(strings.Fields("-quick -files 100000,1000,1000 -listens 16000 -rounds 4"), io.Discard)
	want := quick
	want.trees, want.listens, want.rounds = []int{1000, 100000}, []int{16000}, 4
	if err != nil || !reflect.DeepEqual(o.scale, want) {
		t.Errorf("the scale is %+v, %v, want %+v", o.scale, err, want)
	}
	if n := o.scale.many(); n != 16000 {
		t.Errorf("%d listens are many, want the most that there are", n)
	}
	var help strings.Builder
	if _, err := parse([]string{"-help"}, &help); err != flag.ErrHelp || !strings.Contains(help.String(), "-files N,N,...") {
		t.Errorf("help is %q, %v", &help, err)
	}
}

// A server that is named must be there, and none may be there twice.
func TestTheChoiceOfServers(t *testing.T) {
	bin := t.TempDir()
	if err := build(t.Context(), "..", bin, "./cmd/mcp-fsserve"); err != nil {
		t.Fatal(err)
	}
	program := bin + "/mcp-fsserve"
	if _, _, err := preparePeers(t.Context(), bin, wanted{ours: "a=" + program + ",a=" + program, servers: "none"}, nil); err == nil {
		t.Error("two servers have one name")
	}
	t.Setenv("PATH", bin)
	if _, _, err := preparePeers(t.Context(), bin, wanted{ours: program, servers: "typescript"}, nil); !errors.Is(err, errLeftOut) {
		t.Errorf("there is no node: %v", err)
	}
}

// Servers of which nothing is measured are not built, and refused if they were asked for.
func TestTheChoiceOfServersFollowsTheMeasures(t *testing.T) {
	for _, c := range []struct{ only, servers, want string }{
		{"", "all", "go-sdk mcp-go typescript files copied loop"},
		{"growth", "all", ""},
		{"ways,growth-uris", "none", ""},
		{"growth,stdio", "all", "go-sdk mcp-go typescript loop"},
		{"discover", "all", "go-sdk mcp-go typescript"},
		{"discover,read1m", "files,files", "files"},
		{"memory64m", "copied", "copied"},
		{"list1000", "files", "refused"},
		{"listens", "go-sdk,copied", "refused"},
		{"requests,listens", "loop", "refused"},
		{"growth-files", "typescript", "refused"},
	} {
		var m measures
		if c.only != "" {
			m = strings.Split(c.only, ",")
		}
		names, err := wanted{servers: c.servers}.others(m)
		got := strings.Join(names, " ")
		if err != nil {
			got = "refused"
		}
		if got != c.want {
			t.Errorf("with -only %s, -servers %s is %q (%v), want %q", c.only, c.servers, got, err, c.want)
		}
	}
}

// Two builds of the product are measured beside each other, and every value is there as JSON.
func TestTwoBuildsAsJSON(t *testing.T) {
	bin := t.TempDir()
	if err := build(t.Context(), "..", bin, "./cmd/mcp-fsserve"); err != nil {
		t.Fatal(err)
	}
	o := options{scale: tiny, only: []string{"discover"}, asJSON: true}
	o.scale.rounds = 2
	var out strings.Builder
	built := bin + "/mcp-fsserve"
	o.wanted = wanted{ours: "a=" + built + ",b=" + built, servers: "none"}
	if err := o.run(t.Context(), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var said struct {
		Values []struct {
			Name, Column string
			Rounds       []float64
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &said); err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	for _, v := range said.Values {
		servers[v.Column] = true
		if !strings.HasPrefix(v.Name, "server/discover: ") || len(v.Rounds) != 2 {
			t.Errorf("%+v, want two rounds of discover alone", v)
		}
	}
	if len(servers) != 2 || !servers["a"] || !servers["b"] {
		t.Errorf("measured: %v, want a and b", servers)
	}
}
