package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// session is a client's end of the program in a process of its own.
type session struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	frames chan string // lines of its output; closed when that has ended
	legacy bool        // initialized, so that requests carry no metadata
	lastID int
	told   []message // notifications that came before an answer
}

// message is what a server sends.
type message struct {
	ID     int
	Method string
	Params struct{ URI string }
	Result json.RawMessage
	Error  json.RawMessage
}

// startSession starts program, a path or a name on PATH.
func startSession(t testing.TB, program string, args ...string) *session {
	t.Helper()
	frames := make(chan string, 1000)
	s := &session{t: t, cmd: exec.Command(program, args...), frames: frames}
	var err error
	s.in, err = s.cmd.StdinPipe()
	must(t, err)
	out, err := s.cmd.StdoutPipe()
	must(t, err)
	must(t, s.cmd.Start())
	go func() {
		defer close(frames)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			frames <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // fails when it has ended, as it should
	})
	return s
}

// initialize makes the session one of an older revision.
func (s *session) initialize(revision string) {
	s.t.Helper()
	s.legacy = true
	s.call("initialize", map[string]any{"protocolVersion": revision, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "t", "version": "1"}}, nil)
	s.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// send sends a request and returns its id.
func (s *session) send(method string, params map[string]any) int {
	s.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	if !s.legacy {
		params["_meta"] = requestMeta()
	}
	s.lastID++
	s.write(map[string]any{"jsonrpc": "2.0", "id": s.lastID, "method": method, "params": params})
	return s.lastID
}

func (s *session) write(message any) {
	s.t.Helper()
	line, err := json.Marshal(message)
	must(s.t, err)
	_, err = s.in.Write(append(line, '\n'))
	must(s.t, err)
}

// call sends a request and decodes its result; the notifications that come before it are kept.
func (s *session) call(method string, params map[string]any, result any) {
	s.t.Helper()
	id := s.send(method, params)
	for {
		m := s.next()
		if m.Method != "" {
			s.told = append(s.told, m)
			continue
		}
		if m.ID != id || m.Error != nil {
			s.t.Fatalf("%s %v: answered %+v, %s", method, params, m, m.Error)
		}
		if result != nil {
			must(s.t, json.Unmarshal(m.Result, result))
		}
		return
	}
}

func (s *session) next() (m message) {
	s.t.Helper()
	select {
	case frame, ok := <-s.frames:
		if !ok {
			s.t.Fatal("the server ended")
		}
		m = parseMessage(s.t, frame)
	case <-time.After(patience):
		s.t.Fatal("the server says nothing")
	}
	return m
}

func parseMessage(t testing.TB, frame string) (m message) {
	t.Helper()
	must(t, json.Unmarshal([]byte(frame), &m))
	return m
}

// notification is the next one, of those that are kept first.
func (s *session) notification() message {
	s.t.Helper()
	if len(s.told) > 0 {
		m := s.told[0]
		s.told = s.told[1:]
		return m
	}
	m := s.next()
	if m.Method == "" {
		s.t.Fatalf("the server answered %+v", m)
	}
	return m
}

// walk returns the entries of all pages, and how many pages there were.
func (s *session) walk() (entries []jsonEntry, pages int) {
	s.t.Helper()
	params := map[string]any{}
	for {
		var page struct {
			Resources []struct {
				jsonEntry
				Annotations struct{ LastModified string }
			}
			NextCursor string
		}
		s.call("resources/list", params, &page)
		pages++
		for _, r := range page.Resources {
			r.LastModified = r.Annotations.LastModified
			entries = append(entries, r.jsonEntry)
		}
		if page.NextCursor == "" {
			return entries, pages
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
}

// read returns the content of a resource.
func (s *session) read(uri string) string {
	s.t.Helper()
	var result struct {
		Contents []struct {
			URI, Text string
			Blob      []byte
		}
	}
	s.call("resources/read", map[string]any{"uri": uri}, &result)
	if len(result.Contents) != 1 || result.Contents[0].URI != uri {
		s.t.Fatalf("read %s: %+v", uri, result.Contents)
	}
	return result.Contents[0].Text + string(result.Contents[0].Blob)
}

// end closes the input and expects a clean end.
func (s *session) end() {
	s.t.Helper()
	must(s.t, s.in.Close())
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	for range s.frames {
	}
	must(s.t, s.cmd.Wait())
}

// printed runs the program to its end.
func printed(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command("mcp-fsserve", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("mcp-fsserve %q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}
