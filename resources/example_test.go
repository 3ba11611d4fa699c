package resources_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
	"github.com/mcp-fsserve/mcp-fsserve/watcher"
)

// A directory whose files are read by their URIs. What an ignore file hides is not there.
func Example() {
	dir, remove := notes("monday.md", "tidy up\n", "drafts/poem.md", "roses\n", "build/out.md", "1\n", ".gitignore", "build/\n")
	defer remove()
	ctx := context.Background()

	root, err := resources.Open(dir, &resources.Options{Base: "notes://"})
	if err != nil {
		panic(err)
	}
	defer root.Close()
	if err := root.Load(ctx); err != nil {
		panic(err)
	}
	files := resources.NewCatalogue(nil, root)

	for _, uri := range []string{"notes://drafts/poem.md", "notes://build/out.md"} {
		contents, err := files.Read(ctx, uri, nil)
		if err != nil {
			fmt.Println(uri, err)
			continue
		}
		fmt.Printf("%s %s %q\n", uri, contents.MIMEType, contents.Data)
		contents.Close()
	}
	listed, err := files.Read(ctx, "notes://", nil) // a directory: a URI a line
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Fields(string(listed.Data)))

	// Output:
	// notes://drafts/poem.md text/markdown "roses\n"
	// notes://build/out.md resource not found
	// [notes://monday.md notes://drafts/]
}

// A watcher calls Apply with the paths that may have changed, and gets the keys of what has. Names that are new or gone count once a
// second look finds the same, for which a watcher waits and nobody does here.
func ExampleRoot_Apply() {
	dir, remove := notes("monday.md", "tidy up\n", "tuesday.md", "rest\n")
	defer remove()

	root, err := resources.Open(dir, &resources.Options{Base: "notes://"})
	if err != nil {
		panic(err)
	}
	defer root.Close()
	if err := root.Load(context.Background()); err != nil {
		panic(err)
	}

	write(dir, "tuesday.md", "paint\n")
	write(dir, "wednesday.md", "dry\n")
	change, reply := root.Apply(watcher.Batch{Dirty: []watcher.Dirty{
		{Path: "nothing.md", Evidence: watcher.Content},
		{Path: "tuesday.md", Evidence: watcher.Content},
		{Path: "wednesday.md", Evidence: watcher.Content | watcher.Created},
	}})
	fmt.Println(change.Keys, "the list differs:", change.List)

	var again watcher.Batch
	for _, path := range reply.Unsettled {
		again.Dirty = append(again.Dirty, watcher.Dirty{Path: path, Evidence: watcher.Settled})
	}
	change, _ = root.Apply(again)
	fmt.Println(change.Keys, "the list differs:", change.List)

	// Output:
	// [notes://tuesday.md] the list differs: false
	// [notes://wednesday.md] the list differs: true
}

// notes makes a directory of files, each a path and what it holds.
func notes(files ...string) (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(files); i += 2 {
		write(dir, files[i], files[i+1])
	}
	return dir, func() { os.RemoveAll(dir) }
}

func write(dir, path, text string) {
	path = filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		panic(err)
	}
}
