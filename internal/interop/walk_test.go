package interop

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modern is the revision that has no handshake, and subscriptions/listen.
const modern = "2026-07-28"

// walker takes one client through everything that the server offers. Any failure ends the walk.
type walker struct {
	*testing.T
	ctx    context.Context
	client client
	wire   *wire
	heard  journal[notice]

	root string            // of the tree
	uris map[string]string // as listed, by name
	seen int               // how many of heard the walk has taken in
}

func walk(ctx context.Context, t *testing.T, serve serve, open open, version string) {
	w := &walker{T: t, ctx: ctx, root: plant(t), wire: newWire(t)}
	var wrong journal[string]
	log := slog.New(slog.NewTextHandler(complaints{&wrong}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	at, leave := serve(t, w.root, w.wire)
	var err error
	w.client, err = open(ctx, version, at, w.heard.add, log)
	w.must(err)
	t.Cleanup(func() { _ = w.client.close() }) // or the server would outlive a test that fails
	if got := w.client.version(); got != version {
		t.Fatalf("negotiated %s, want %s", got, version)
	}

	w.lists()
	w.reads()
	w.knowsTemplates()
	w.hearsOfSaves()
	w.hearsOfTheList()
	narrowed := w.narrows()

	w.must(w.client.close())
	leave()
	said := w.wire.checkEnd(ctx, t)
	checkAnswers(t, said)
	checkRefusals(t, version, said)
	checkPages(t, said)
	if version == modern {
		checkModern(t, version, said)
	} else {
		checkLegacy(t, version, said)
	}
	checkStatuses(t, at, version, said)
	w.checkSilence(said[narrowed:])
	if all, _ := wrong.all(); len(all) > 0 {
		t.Errorf("the client complained: %q", all)
	}
}

// complaints is where a client library logs.
type complaints struct{ *journal[string] }

func (c complaints) Write(line []byte) (int, error) {
	c.add(string(line))
	return len(line), nil
}

func (w *walker) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *walker) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

// directory returns the URI of the directory that a listed file is in.
func (w *walker) directory(name string) string {
	uri := w.uris[name]
	return uri[:strings.LastIndex(uri, "/")+1]
}

// offers reports whether the server has a capability, in the form of a path such as resources.subscribe.
func (w *walker) offers(capability string) bool {
	w.Helper()
	at, err := asJSON(w.client.capabilities())
	w.must(err)
	var value any = at
	for _, key := range strings.Split(capability, ".") {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value != nil && value != false
}

// lists compares the list with the disk.
func (w *walker) lists() {
	w.Helper()
	uris, err := w.client.list(w.ctx)
	w.must(err)
	want := files(w.T, w.root)
	for name := range uris {
		if !want[name] {
			w.Errorf("%s is listed, but is not there", name)
		}
	}
	for name := range want {
		if uris[name] == "" {
			w.Errorf("%s is not listed", name)
		}
	}
	w.uris = uris
}

func (w *walker) reads() {
	children := []string{w.directory("docs/deep/leaf.txt"), w.uris["docs/guide.md"]}
	for uri, want := range map[string]contents{
		w.uris["notes.md"]:           {mimeType: "text/markdown", text: notes},
		w.uris["pixel.png"]:          {mimeType: "image/png", blob: pixel},
		w.directory("docs/guide.md"): {mimeType: "text/uri-list", text: strings.Join(children, "\r\n") + "\r\n"},
	} {
		got, err := w.client.read(w.ctx, uri)
		w.must(err)
		if strings.HasSuffix(uri, "/") {
			lines := strings.SplitAfter(got.text, "\r\n")
			slices.Sort(lines)
			got.text = strings.Join(lines, "")
		}
		if got.uri != uri || got.mimeType != want.mimeType || got.text != want.text ||
			string(got.blob) != string(want.blob) {
			w.Errorf("%s: read %+v, want %+v", uri, got, want)
		}
	}
	if got, err := w.client.read(w.ctx, w.uris["notes.md"]+".absent"); err == nil {
		w.Errorf("what is not there was read: %+v", got)
	}
}

func (w *walker) knowsTemplates() {
	templates, err := w.client.templates(w.ctx)
	w.must(err)
	want := []string{w.directory("notes.md") + "{+path}"}
	if !slices.Equal(templates, want) {
		w.Fatalf("templates are %q, want %q", templates, want)
	}
	if !w.offers("completions") {
		return
	}
	for start, want := range map[string][]string{"no": {"notes.md"}, "docs/g": {"docs/guide.md"}, "x": {}} {
		got, err := w.client.complete(w.ctx, templates[0], start)
		w.must(err)
		if !slices.Equal(got, want) {
			w.Errorf("%q is completed to %q, want %q", start, got, want)
		}
	}
}

// watch watches these names, directories among them, and waits until the server has agreed.
func (w *walker) watch(names ...string) {
	w.Helper()
	var uris []string
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			uris = append(uris, w.directory("notes.md")+name)
		} else {
			uris = append(uris, w.uris[name])
		}
	}
	w.must(w.client.watch(w.ctx, uris...))
	w.must(w.wire.awaitWatched(w.ctx, uris...))
}

// hears waits for a notice. Others before it are wrong.
func (w *walker) hears(want notice) {
	w.Helper()
	heard, err := w.heard.await(w.ctx, func(heard []notice) bool { return len(heard) > w.seen })
	w.must(err)
	if got := heard[w.seen]; got != want {
		w.Fatalf("heard %+v, want %+v", got, want)
	}
	w.seen++
}

func (w *walker) hearsOfSaves() {
	if !w.offers("resources.subscribe") {
		w.Fatal("no subscriptions are offered")
	}
	w.watch("notes.md", "docs/")
	appendTo(w.T, w.path("notes.md"), "more\n")
	w.hears(notice{uri: w.uris["notes.md"]})
	w.hasText("notes.md", notes+"more\n")
	save(w.T, w.path("notes.md"), "saved\n")
	w.hears(notice{uri: w.uris["notes.md"]})
	w.hasText("notes.md", "saved\n")
	appendTo(w.T, w.path("docs/deep/leaf.txt"), "more\n")
	w.hears(notice{uri: w.directory("docs/guide.md")})
}

func (w *walker) hasText(name, want string) {
	w.Helper()
	got, err := w.client.read(w.ctx, w.uris[name])
	w.must(err)
	if got.text != want {
		w.Errorf("%s: read %q, want %q", name, got.text, want)
	}
}

func (w *walker) hearsOfTheList() {
	if !w.offers("resources.listChanged") {
		w.Fatal("no changes of the list are offered")
	}
	w.must(os.WriteFile(w.path("new.md"), []byte("new\n"), 0o666))
	w.hears(notice{listChanged: true})
	w.lists()
	w.hasText("new.md", "new\n")
	w.must(os.Remove(w.path("new.md")))
	w.hears(notice{listChanged: true})
	w.lists()
}

// narrows stops watching, in part and then altogether, and changes what is no longer watched each time. It returns how
// long the record was when the server had taken in the first of it.
func (w *walker) narrows() int {
	w.watch("other.md")
	w.hasText("other.md", "other\n") // asked after the cancel, so answered after it was taken in
	narrowed, err := w.wire.awaitRead(w.ctx, w.uris["other.md"])
	w.must(err)
	appendTo(w.T, w.path("notes.md"), "unheard\n")
	w.hasText("notes.md", "saved\nunheard\n")
	appendTo(w.T, w.path("other.md"), "heard\n")
	w.hears(notice{uri: w.uris["other.md"]})

	w.watch()
	w.hasText("other.md", "other\nheard\n")
	appendTo(w.T, w.path("other.md"), "unheard\n")
	w.must(os.Remove(w.path("many/000.txt")))
	w.hears(notice{listChanged: true})
	return narrowed
}

// checkSilence checks that the end of the record, which is everything the server had to say, speaks of nothing that
// was not watched any more.
func (w *walker) checkSilence(said []entry) {
	updates := 0
	for _, e := range said {
		if e.From != "server" || e.Method != "notifications/resources/updated" {
			continue
		}
		updates++
		if e.Params.URI != w.uris["other.md"] {
			w.Errorf("told of a change that was not watched: %s", e.Line)
		}
	}
	if updates != 1 {
		w.Errorf("told of %d changes, want the one of a file while it was watched", updates)
	}
	if heard, _ := w.heard.all(); len(heard) > w.seen {
		w.Errorf("heard after the end: %+v", heard[w.seen:])
	}
}
