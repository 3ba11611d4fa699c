package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

const large = "test://top/large"

// inBlocks is a catalogue that has one resource more, as a body.
type inBlocks struct {
	*fakeCatalogue
	data []byte
	text bool

	mu      sync.Mutex // guards what follows
	changes func(read, block int) bool
	reads   int
	open    int
}

// change has changes say whether a block has changed since the read, of which it is told how many there were before.
func (c *inBlocks) change(changes func(read, block int) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = changes
}

// serveInBlocks has the server of w serve the text or blob as a body, until the test ends.
func (w *web) serveInBlocks(data []byte, text bool) *inBlocks {
	c := &inBlocks{fakeCatalogue: w.cat, data: data, text: text}
	w.s.cat = c
	return c
}

func (c *inBlocks) Read(ctx context.Context, uri string, opts *mcp.ReadOptions) (mcp.Contents, error) {
	if uri != large {
		return c.fakeCatalogue.Read(ctx, uri, opts)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	b := &fakeBody{c: c, read: c.reads}
	c.reads++
	return mcp.Contents{URI: uri, MIMEType: "text/plain", Text: c.text, Body: b}, nil
}

// counts is how many reads there were, and how many of their bodies are open.
func (c *inBlocks) counts() (reads, open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads, c.open
}

// fakeBody has blocks of 30,000 bytes.
type fakeBody struct {
	c      *inBlocks
	read   int
	closed bool
}

const fakeBlock = 30_000

func (b *fakeBody) Size() int64     { return int64(len(b.c.data)) }
func (b *fakeBody) Measured() int64 { return int64(jsonrpc.EscapedLen(b.c.data)) }
func (b *fakeBody) Blocks() int     { return (len(b.c.data) + fakeBlock - 1) / fakeBlock }

func (b *fakeBody) Block(i int) ([]byte, error) {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	if b.closed || b.c.changes != nil && b.c.changes(b.read, i) {
		return nil, mcp.ErrChanged
	}
	return b.c.data[i*fakeBlock : min((i+1)*fakeBlock, len(b.c.data))], nil
}

func (b *fakeBody) Close() {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	b.c.open--
	b.closed = true
}

// held is what an answer to a read says the resource held.
func held(t *testing.T, message []byte) []byte {
	t.Helper()
	var answer struct {
		Result struct {
			Contents []struct{ Text, Blob *string }
		}
	}
	if err := json.Unmarshal(message, &answer); err != nil || len(answer.Result.Contents) != 1 {
		t.Fatalf("%v: %.100s", err, message)
	}
	c := answer.Result.Contents[0]
	if c.Blob == nil {
		return []byte(*c.Text)
	}
	data, err := base64.StdEncoding.DecodeString(*c.Blob)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whether it is held or in blocks, and however it is asked for, a resource is the same to the byte.
func TestBodiesAreAnsweredAsWhatIsHeld(t *testing.T) {
	random := bytes.Repeat([]byte{0, 1, 0xff, '"'}, 50_000)
	for name, c := range map[string]struct {
		data []byte
		text bool
	}{
		"lines":              {[]byte(strings.Repeat("A line of text, as they are.\n", 20_000)), true},
		"characters":         {[]byte(strings.Repeat("x€", 60_001)), true}, // some go on in the next block
		"control characters": {bytes.Repeat([]byte{1}, 100_000), true},
		"quotes":             {bytes.Repeat([]byte(`"`), 100_000), true},
		"blob":               {random, false},
		"blob and one":       {random[:len(random)-2], false},
		"blob and two":       {random[:len(random)-1], false},
		"one block":          {random[:fakeBlock], false},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWeb(t, nil, nil)
			w.cat.contents[large] = mcp.Contents{MIMEType: "text/plain", Data: c.data, Text: c.text}
			want := w.post(read("1", large)).want(t, http.StatusOK)
			if !bytes.Equal(held(t, []byte(want.body)), c.data) {
				t.Fatal("what is held is not what was to be served")
			}
			session, batches := w.open("2025-11-25"), w.open("2025-03-26")
			legacy := rpc("1", "resources/read", `"uri":"`+large+`"`)
			wantLegacy := w.post(legacy, headerSession, session).want(t, http.StatusOK)
			cat := w.serveInBlocks(c.data, c.text)
			got := w.post(read("1", large))
			if got.body != want.body || got.header.Get("Content-Length") != fmt.Sprint(len(want.body)) {
				t.Errorf("%d bytes of %s, want %d", len(got.body), got.header.Get("Content-Length"), len(want.body))
			}
			if got := w.post(legacy, headerSession, session); got.body != wantLegacy.body {
				t.Errorf("in a session: %d bytes, want %d", len(got.body), len(wantLegacy.body))
			}
			batch := w.post("["+legacy+","+legacy+"]", headerSession, batches).want(t, http.StatusOK)
			if batch.body != "["+wantLegacy.body+","+wantLegacy.body+"]" {
				t.Errorf("in a batch: %d bytes", len(batch.body))
			}
			if _, open := cat.counts(); open != 0 {
				t.Errorf("%d bodies are open", open)
			}
		})
	}
}

// rpc is a request of a legacy session.
func rpc(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`
}

// Short blocks are sent together: what is appended is worth a write, up to the end.
func TestARestIsSentInLargePieces(t *testing.T) {
	for _, text := range []bool{true, false} {
		cat := &inBlocks{data: bytes.Repeat([]byte("x"), 10*fakeBlock+1), text: text}
		contents := mcp.Contents{URI: large, Text: text, Body: &fakeBody{c: cat}}
		var rest remainder
		size, err := encodedLen(t.Context(), &contents)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rest.begin(nil, &contents, size); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for {
			piece, err := rest.append(nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(piece) == 0 {
				break
			}
			rest.size -= int64(len(piece))
			sizes = append(sizes, len(piece))
		}
		for _, n := range sizes[:len(sizes)-1] {
			if n < sent || n > sent+portion/3*4 {
				t.Errorf("text %v: pieces of %v", text, sizes)
				break
			}
		}
		if rest.size != 0 {
			t.Errorf("text %v: %d bytes are left", text, rest.size)
		}
	}
}

// What has changed before anything was sent is read again, what has changed since cannot be ended as if it were whole.
func TestHTTPABodyThatChangesIsNeverSentAsAnother(t *testing.T) {
	w := startWeb(t, nil, nil)
	cat := w.serveInBlocks(bytes.Repeat([]byte("a line\n"), 100_000), true)
	cat.change(func(read, block int) bool { return read < 3 })
	if got := w.post(read("1", large)).want(t, http.StatusOK); !bytes.Equal(held(t, []byte(got.body)), cat.data) {
		t.Error("it is not what was read the fourth time")
	}
	cat.change(func(int, int) bool { return true })
	w.post(read("2", large)).wantError(t, http.StatusOK, "2", jsonrpc.InternalError, "written to all the time")
	for _, last := range []int{3, 7, 23} {
		cat.change(func(_, block int) bool { return block == last })
		res, err := w.client.Do(w.request(t.Context(), http.MethodPost, read("3", large)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) || json.Valid(got) {
			t.Errorf("block %d has changed: %d bytes came, %v", last, len(got), err)
		}
	}
	if _, open := cat.counts(); open != 0 {
		t.Errorf("%d bodies are open", open)
	}
}

// On HTTP/2, too, a client can tell what was broken off from an answer.
func TestHTTP2ABodyThatChangesResetsItsStream(t *testing.T) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	inBubbleSpeaking(t, &protocols, nil, nil, func(t *testing.T, w *web) {
		cat := w.serveInBlocks(bytes.Repeat([]byte("a line\n"), 100_000), true)
		if got := w.post(read("1", large)).want(t, http.StatusOK); !bytes.Equal(held(t, []byte(got.body)), cat.data) {
			t.Error("it is another")
		}
		cat.change(func(_, block int) bool { return block == 20 })
		res, err := w.client.Do(w.request(t.Context(), http.MethodPost, read("2", large)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(res.Body); err == nil || json.Valid(got) {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
		res.Body.Close()
	})
}

// A body takes nothing of the memory that reads share, so that a client that does not take it keeps nobody waiting; and it is
// closed when that client is given up.
func TestHTTPBodiesNeedNoSharedMemory(t *testing.T) {
	inBubble(t, &Options{MaxReadMemory: 1 << 20}, nil, func(t *testing.T, w *web) {
		cat := w.serveInBlocks(bytes.Repeat([]byte("x"), 4<<20), true)
		for range 5 {
			w.rawPost("HTTP/1.1", read("1", large))
		}
		synctest.Wait()
		if _, open := cat.counts(); open != 5 {
			t.Errorf("%d bodies are open", open)
		}
		begun := time.Now()
		w.post(read("2", large)).want(t, http.StatusOK)
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		w.s.mem.untouched(t)
		after(w.e.opts.WriteTimeout)
		if _, open := cat.counts(); open != 0 {
			t.Errorf("%d bodies are open", open)
		}
	})
}

// What is sent is held block by block: an answer of any length takes the memory of a short one.
func TestHTTPBodiesTakeNoMemoryOfTheirLength(t *testing.T) {
	for _, text := range []bool{true, false} {
		w := startWeb(t, nil, nil)
		w.serveInBlocks(bytes.Repeat([]byte("A line of text, as they are.\n"), 1<<18), text)
		c := w.rawPost("HTTP/1.1", read("1", large))
		res := c.response()
		buf := make([]byte, 32<<10)
		in := bufio.NewReaderSize(res.Body, len(buf))
		if _, err := in.Peek(1); err != nil {
			t.Fatal(err)
		}
		var before, end runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{in}, buf)
		runtime.ReadMemStats(&end)
		if taken := end.TotalAlloc - before.TotalAlloc; err != nil || n < 7<<20 || taken > 512<<10 {
			t.Errorf("text %v: %d bytes took %d of memory, %v", text, n, taken, err)
		}
	}
}

// On a pipe a body is put together, in the memory of its answer alone. Who waits for that has nothing open.
func TestPipesPutBodiesTogether(t *testing.T) {
	cat := &inBlocks{fakeCatalogue: newFakeCatalogue(), data: bytes.Repeat([]byte{1}, 100_000), text: true}
	s := NewServer(cat, nil, &Options{MaxReadMemory: 1 << 20})
	respond := func(ctx context.Context, wait func(acquire func())) ([]byte, int64, error) {
		m, failure := jsonrpc.Parse([]byte(read("1", large)))
		if failure != nil {
			t.Fatal(failure)
		}
		r, err := s.route(&m, origin{})
		if err != nil {
			t.Fatal(err)
		}
		r.memory = &share{of: s.mem, wait: wait}
		frame, err := s.respond(ctx, &r, nil)
		holds := r.memory.held
		r.memory.release()
		return frame, holds, err
	}
	never := func(func()) { t.Error("it waits") }
	frame, holds, err := respond(t.Context(), never)
	if err != nil || !bytes.Equal(held(t, frame), cat.data) || holds < 600_000 || holds > 600_000+perRead {
		t.Errorf("%d bytes hold %d, %v", len(frame), holds, err)
	}
	other := share{of: s.mem}
	if !other.covers(900_000) {
		t.Fatal("no memory")
	}
	waited := 0
	frame, _, err = respond(t.Context(), func(acquire func()) {
		waited++
		if _, open := cat.counts(); open != 0 {
			t.Errorf("%d bodies are open", open)
		}
		other.release()
		acquire()
	})
	if err != nil || waited != 1 || !bytes.Equal(held(t, frame), cat.data) {
		t.Errorf("it waits %d times, %v", waited, err)
	}
	was, _ := cat.counts()
	cat.change(func(read, block int) bool { return read < was+4 && block == 3 })
	if frame, _, err = respond(t.Context(), never); err != nil || !bytes.Equal(held(t, frame), cat.data) {
		t.Errorf("it changes four times: %v", err)
	}
	cat.change(func(_, block int) bool { return block == 3 })
	if _, holds, err := respond(t.Context(), never); !errors.As(err, new(*mcp.ReadError)) || holds != 0 {
		t.Errorf("it changes for ever: %v, holds %d", err, holds)
	}
	cat.change(nil)
	if _, _, err := respond(canceled(), never); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, open := cat.counts(); open != 0 {
		t.Errorf("%d bodies are open", open)
	}
	s.mem.untouched(t)
}

// What the http.Server still holds of an answer that is broken off waits for no client for ever.
func TestHTTPTheEndOfWhatIsBrokenOffHasItsTime(t *testing.T) {
	// So much JSON for each byte that of the last frame of a block net/http keeps some.
	content := []byte(strings.Repeat(strings.Repeat("\x01", 73)+strings.Repeat("x", 27), 4_000))
	total := 0
	for _, all := range []bool{true, false} {
		inBubble(t, nil, nil, func(t *testing.T, w *web) {
			cat := w.serveInBlocks(content, true)
			cat.change(func(_, block int) bool { return block == 2 })
			c := w.rawPost("HTTP/1.1", read("1", large))
			if all {
				said, err := io.ReadAll(c.Conn)
				if total = len(said); err != nil || total < 2*fakeBlock {
					t.Fatalf("%d bytes, %v", total, err)
				}
				return
			}
			if _, err := io.ReadFull(c.Conn, make([]byte, total-100)); err != nil {
				t.Fatal(err)
			}
			after(10 * w.e.opts.WriteTimeout)
			if said, err := io.ReadAll(c.Conn); err != nil || len(said) > 0 {
				t.Errorf("%d bytes come after ten times as long as a client may take, %v", len(said), err)
			}
		})
	}
}

// BenchmarkHTTPReadLarge is the answer to a read of 1 MiB, in blocks.
func BenchmarkHTTPReadLarge(b *testing.B) {
	for name, text := range map[string]bool{"text": true, "blob": false} {
		b.Run(name, func(b *testing.B) {
			w := startWeb(b, nil, nil)
			w.serveInBlocks(bytes.Repeat([]byte("A line of text, as they are, of some forty bytes.\n"), 1<<20/50), text)
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			buf := make([]byte, 64<<10)
			for b.Loop() {
				res, err := w.client.Do(w.request(b.Context(), http.MethodPost, read("1", large)))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buf); err != nil {
					b.Fatal(err)
				}
				res.Body.Close()
			}
		})
	}
}
