package interop

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const notes = "# Notes\n\nÜbersicht, 日本語\n"

// pixel is no UTF-8, so that it travels as a blob.
var pixel = []byte("\x89PNG\r\n\x1a\n\x00\xff\xfe")

// plant makes the tree that is served: small at the top, and with more files than two pages of the list hold.
func plant(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"notes.md":           notes,
		"other.md":           "other\n",
		"pixel.png":          string(pixel),
		"docs/guide.md":      "guide\n",
		"docs/deep/leaf.txt": "leaf\n",
	}
	for i := range 600 {
		files[fmt.Sprintf("many/%03d.txt", i)] = "one of many\n"
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// files returns the names of the files below root, as the list spells them.
func files(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		names[filepath.ToSlash(name)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// appendTo writes to a file in place, once.
func appendTo(t *testing.T, path, more string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(more); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// save replaces a file as many editors do: by renaming a new one over it. The new one's first name is hidden, so that
// no delay between the two steps can make it a file of the list.
func save(t *testing.T, path, content string) {
	t.Helper()
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(temporary, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}
