package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

var update = flag.Bool("update", false, "write the server's part of testdata/wire/*.txtar anew")

// TestWire replays the transcripts in testdata/wire over the real wiring, with URIs under test://, on a pipe and over HTTP.
// A transcript is an archive of
//
//	-- options --    optional: page-size N
//	-- tree/PATH --  files to serve
//	-- client --     what the client sends and does
//	-- server --     the frames that come of it, in order; of "server, any order" in any order
//
// where a name ends in ", stdio" for what only a pipe has, with as many client and server sections, in turn, as it needs. In a client section a line that starts with { or [
// is sent as it is, but for $META, the metadata of a modern request, and $CURSOR1 and so on, the cursors as they came.
// Other lines are steps; an argument may be a Go string in double quotes:
//
//	raw TEXT               send TEXT as a line
//	pad N LINE             send LINE with enough spaces before its last brace to make N bytes
//	append PATH TEXT       add a line to a file
//	put PATH TEXT          move a file with a line in it to PATH, from elsewhere, making its directory if need be
//	rename OLD NEW, remove PATH, mkdir PATH
//	wait N                 the section gives N frames; without it, one for each request sent
//	eof                    close the input; the section then gives everything until the server has ended
//
// Each step is one operation on a file, so that no scheduling can make two changes of it. Times, the version and cursors
// are replaced by fixed words before anything is compared.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("../../testdata/wire/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			replay(t, archive, startWire, false)
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			t.Run("http", func(t *testing.T) { replay(t, archive, startWireHTTP, true) })
		})
	}
}

// replay runs one transcript, comparing each server section or, to update it, writing it. It never updates it over HTTP.
func replay(t *testing.T, archive *txtar.Archive, start func(testing.TB, config) *wireEnd, overHTTP bool) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	cfg := serving(dir)
	for _, file := range archive.Files {
		if name, ok := strings.CutPrefix(file.Name, "tree/"); ok {
			name = filepath.Join(dir, filepath.FromSlash(name))
			must(t, os.MkdirAll(filepath.Dir(name), 0o777))
			must(t, os.WriteFile(name, file.Data, 0o666))
		}
		if file.Name == "options" {
			must2(fmt.Sscanf(string(file.Data), "page-size %d", &cfg.pageSize))(t)
		}
	}
	w := start(t, cfg)
	var got []string
	for i := range archive.Files {
		file := &archive.Files[i]
		name, alone := strings.CutSuffix(file.Name, ", stdio")
		if alone && overHTTP {
			continue
		}
		switch name {
		case "client":
			got = w.play(string(file.Data))
		case "server", "server, any order":
			if name != "server" {
				slices.Sort(got)
			}
			text := strings.Join(append(got, ""), "\n")
			if *update && !overHTTP {
				file.Data = []byte(text)
			} else if text != string(file.Data) {
				t.Errorf("section %d: the server sent\n%swant\n%s", i, text, file.Data)
			}
			got = nil
		}
	}
	if !w.over {
		t.Error("the transcript does not come to eof")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must2[T any](_ T, err error) func(testing.TB) {
	return func(t testing.TB) { t.Helper(); must(t, err) }
}

// serving is the configuration of a server of dir, with URIs under test://.
func serving(dir string) config {
	s := defaults()
	s.base = "test://"
	return config{places: []place{{arg: dir, written: dir, spec: resources.Spec{Dir: dir}}}, settings: s, command: "mcp-fsserve"}
}

// wireEnd is a client's end of a server that runs in this process.
type wireEnd struct {
	t       testing.TB
	dir     string
	in      io.WriteCloser
	frames  chan string // lines of the server's output; closed when it has ended
	ended   chan error  // has what serve returned
	stop    context.CancelFunc
	over    bool
	cursors []string
}

// startWire starts a server and waits until it watches its directory.
func startWire(t testing.TB, cfg config) *wireEnd {
	t.Helper()
	stdin, in, err := os.Pipe()
	must(t, err)
	out, stdout, err := os.Pipe()
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	w := &wireEnd{t: t, dir: cfg.places[0].spec.Dir, in: in, frames: make(chan string, 1000), ended: make(chan error, 1), stop: stop}
	watching := make(chan struct{})
	log := slog.New(logged{message: watchingMessage, once: watching})
	go func() {
		err := serve(ctx, cfg, stdin, stdout, log)
		stdin.Close()
		stdout.Close()
		w.ended <- err
	}()
	go func() {
		defer close(w.frames)
		defer out.Close()
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			w.frames <- lines.Text()
		}
	}()
	t.Cleanup(func() { stop(); in.Close() })
	select {
	case <-watching:
	case err := <-w.ended:
		t.Fatalf("the server ended: %v", err)
	case <-time.After(patience):
		t.Fatal("the server never watched its directory")
	}
	return w
}

// logged is a slog.Handler that closes once when message is logged for the first time.
type logged struct {
	message string
	once    chan struct{}
}

func (l logged) Enabled(context.Context, slog.Level) bool { return true }
func (l logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l logged) WithGroup(string) slog.Handler            { return l }
func (l logged) Handle(_ context.Context, r slog.Record) error {
	if r.Message == l.message {
		close(l.once)
	}
	return nil
}

// play does what a client section says and returns the frames it gives.
func (w *wireEnd) play(section string) []string {
	w.t.Helper()
	want := 0
	explicit := -1
	for line := range strings.Lines(section) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '{' || line[0] == '[' {
			w.send(w.expand(line))
			want += requests(line)
			continue
		}
		step, rest, _ := strings.Cut(line, " ")
		switch step {
		case "wait":
			explicit = number(w.t, rest)
		case "pad":
			size, rest, _ := strings.Cut(rest, " ")
			line := w.expand(rest)
			w.send(line[:len(line)-1] + strings.Repeat(" ", number(w.t, size)-len(line)) + "}")
			want++
		case "raw":
			w.send(arguments(w.t, rest, 1)[0])
		case "eof":
			must(w.t, w.in.Close())
			w.over = true
		default:
			w.edit(step, rest)
		}
	}
	if w.over {
		return w.untilEnd()
	}
	if explicit >= 0 {
		want = explicit
	}
	var got []string
	for range want {
		got = append(got, w.next(got))
	}
	return got
}

// requests is 1 for a request, 0 for a notification or what is neither.
func requests(line string) int {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	line = strings.NewReplacer("$META", `"_meta":{}`).Replace(line)
	if json.Unmarshal([]byte(line), &m) == nil && m.ID != nil {
		return 1
	}
	return 0
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func (w *wireEnd) expand(line string) string {
	line = strings.ReplaceAll(line, "$META", modernMeta)
	return placed.ReplaceAllStringFunc(line, func(place string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(place, "$CURSOR"))
		if err != nil || n < 1 || n > len(w.cursors) {
			w.t.Fatalf("there is no %s", place)
		}
		return w.cursors[n-1]
	})
}

func (w *wireEnd) send(line string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, line+"\n")
	must(w.t, err)
}

// next waits for one frame; before are those of the same section, for the message if none comes.
func (w *wireEnd) next(before []string) string {
	w.t.Helper()
	select {
	case frame, ok := <-w.frames:
		if !ok {
			w.t.Fatalf("the server ended after\n%s", strings.Join(before, "\n"))
		}
		return w.normal(frame)
	case <-time.After(patience):
		w.t.Fatalf("no frame came after\n%s", strings.Join(before, "\n"))
	}
	return ""
}

func (w *wireEnd) untilEnd() (got []string) {
	w.t.Helper()
	late := time.After(patience)
	for {
		select {
		case frame, ok := <-w.frames:
			if !ok {
				must(w.t, <-w.ended)
				return got
			}
			got = append(got, w.normal(frame))
		case <-late:
			w.t.Fatalf("the server does not end after\n%s", strings.Join(got, "\n"))
		}
	}
}

var (
	modified = regexp.MustCompile(`"lastModified":"[^"]*"`)
	next     = regexp.MustCompile(`"nextCursor":"([^"]*)"`)
	placed   = regexp.MustCompile(`\$CURSOR\d+`)
	server   = regexp.MustCompile(`"name":"mcp-fsserve","version":"[^"]*"`)
)

// normal replaces what differs from run to run.
func (w *wireEnd) normal(frame string) string {
	if m := next.FindStringSubmatch(frame); m != nil {
		w.cursors = append(w.cursors, m[1])
		frame = strings.Replace(frame, m[0], fmt.Sprintf(`"nextCursor":"$CURSOR%d"`, len(w.cursors)), 1)
	}
	frame = modified.ReplaceAllString(frame, `"lastModified":"TIME"`)
	return server.ReplaceAllString(frame, `"name":"mcp-fsserve","version":"VERSION"`)
}

func (w *wireEnd) edit(step, rest string) {
	w.t.Helper()
	wanted := map[string]int{"append": 2, "put": 2, "rename": 2, "remove": 1, "mkdir": 1}
	n, ok := wanted[step]
	if !ok {
		w.t.Fatalf("%s is no step", step)
	}
	args := arguments(w.t, rest, n)
	path := filepath.Join(w.dir, filepath.FromSlash(args[0]))
	switch step {
	case "append":
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		must(w.t, err)
		_, err = f.WriteString(args[1] + "\n")
		must(w.t, err)
		must(w.t, f.Close())
	case "put":
		elsewhere := filepath.Join(w.t.TempDir(), "file")
		must(w.t, os.WriteFile(elsewhere, []byte(args[1]+"\n"), 0o666))
		must(w.t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(w.t, os.Rename(elsewhere, path))
	case "rename":
		must(w.t, os.Rename(path, filepath.Join(w.dir, filepath.FromSlash(args[1]))))
	case "remove":
		must(w.t, os.RemoveAll(path))
	case "mkdir":
		must(w.t, os.MkdirAll(path, 0o777))
	}
}

// arguments splits text into n arguments at spaces; the last one takes the rest.
func arguments(t testing.TB, text string, n int) (args []string) {
	t.Helper()
	for len(args) < n {
		text = strings.TrimLeft(text, " ")
		if quoted, err := strconv.QuotedPrefix(text); err == nil && quoted[0] == '"' {
			arg, err := strconv.Unquote(quoted)
			must(t, err)
			args, text = append(args, arg), text[len(quoted):]
			continue
		}
		arg := text
		if len(args) < n-1 {
			arg, text, _ = strings.Cut(text, " ")
		}
		args = append(args, arg)
	}
	return args
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// TestWireTranscriptsHoldTheirRules checks, in every frame of every transcript, what no frame may break.
func TestWireTranscriptsHoldTheirRules(t *testing.T) {
	files, err := filepath.Glob("../../testdata/wire/*.txtar")
	must(t, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		must(t, err)
		for _, section := range archive.Files {
			if !strings.HasPrefix(section.Name, "server") {
				continue
			}
			for line := range bytes.Lines(section.Data) {
				var frame map[string]json.RawMessage
				if err := json.Unmarshal(line, &frame); err != nil && line[0] != '[' {
					t.Errorf("%s: no JSON: %s", file, line)
				}
				if line[0] != '[' && string(frame["jsonrpc"]) != `"2.0"` {
					t.Errorf("%s: no JSON-RPC: %s", file, line)
				}
				if bytes.Contains(line, []byte("null")) {
					t.Errorf("%s: holds null: %s", file, line)
				}
			}
		}
	}
}
