package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestListIsTheUnionOfAllPages: whatever the flags, list prints in each of its forms what a client finds that walks the
// pages of a server with the same flags. The flags are drawn at random.
func TestListIsTheUnionOfAllPages(t *testing.T) {
	work := manyKinds(t)
	served := map[int]bool{}
	for seed := range 60 {
		args := drawArguments(rand.New(rand.NewPCG(uint64(seed), 0)), work)
		t.Run(strings.ReplaceAll(strings.Join(args, " "), work, ""), func(t *testing.T) {
			s := startSession(t, "mcp-fsserve", args...)
			want, _ := s.walk()
			s.end()
			served[len(want)] = true
			comparePaths(t, args, want)
			compareJSON(t, args, want)
			compareTree(t, args, want)
		})
	}
	if len(served) < 20 {
		t.Errorf("the flags made only %d lists of different lengths", len(served))
	}
}

// manyKinds makes two directories with files that every flag makes a difference for, one in another.
func manyKinds(t *testing.T) string {
	work := t.TempDir()
	must(t, os.CopyFS(filepath.Join(work, "tree"), os.DirFS("../../testdata/tree")))
	for _, name := range []string{
		"tree/.github/workflows/ci.yml", "tree/.github/.secret/x.md", "tree/app.log", "tree/build/out.txt", "tree/build/deep/out.md",
		"tree/server.pem", "tree/docs/id_rsa", "tree/docs/.env.local", "tree/docs/a,b.md", "tree/docs/{x}.md", "tree/docs/deep/.hidden.md",
		"notes/one.md", "notes/two.txt", "notes/.three.md", "notes/in/four.md", "notes/in/.gitignore", "notes/in/.five/six.md",
	} {
		name = filepath.Join(work, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must(t, os.WriteFile(name, []byte(name), 0o666))
	}
	return work
}

// drawArguments draws flags, each about as often as not, and one to three directories.
func drawArguments(rng *rand.Rand, work string) (args []string) {
	globs := []string{"*.md", "*.{md,txt}", "docs/", "/docs/**", "docs/deep", "**/er/*", "*", "notes.md", "[a-k]*", ".github/**",
		".github/", "build", "build/out.txt", "*.log", "/a,b.md", "docs/{a,b}*", "in/.five/six.md", "{docs,in}/**"}
	literal := []string{".github/**", ".github/workflows/", "build/**", "build/deep/*.md", "app.log", "docs/id_rsa", "server.pem", "in/.five", "docs/.env.local"}
	for _, kind := range []struct {
		flag string
		from []string
	}{{"--include", globs}, {"--exclude", globs}, {"--unhide", literal}} {
		for rng.IntN(5) < 2 {
			args = append(args, kind.flag+"="+kind.from[rng.IntN(len(kind.from))])
		}
	}
	for _, flag := range []string{"--hidden", "--no-ignore", "--uri-base=test://x/", "--ttl=1s", "--max-size=1"} {
		if rng.IntN(2) == 0 {
			args = append(args, flag)
		}
	}
	if rng.IntN(3) > 0 {
		args = append(args, "--page-size="+strconv.Itoa(1+rng.IntN(9)))
	}
	dirs := []string{"tree", "notes", "inner=tree/docs"}
	rng.Shuffle(len(dirs), func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
	for _, dir := range dirs[:1+rng.IntN(len(dirs))] {
		name, path, named := strings.Cut(dir, "=")
		if !named {
			name, path = "", dir
		} else {
			name += "="
		}
		args = append(args, name+filepath.Join(work, filepath.FromSlash(path)))
	}
	return args
}

func comparePaths(t *testing.T, args []string, want []jsonEntry) {
	var names strings.Builder
	for _, e := range want {
		names.WriteString(printable(e.Name) + "\n")
	}
	if got := printed(t, slices.Concat([]string{"list", "--paths"}, args)...); got != names.String() {
		t.Errorf("--paths printed\n%swant\n%s", got, names.String())
	}
}

func compareJSON(t *testing.T, args []string, want []jsonEntry) {
	var got struct {
		Resources []jsonEntry
		Totals    totals
	}
	must(t, json.Unmarshal([]byte(printed(t, slices.Concat([]string{"list", "--json"}, args)...)), &got))
	if !slices.Equal(got.Resources, want) {
		t.Errorf("--json printed\n%+v\nwant\n%+v", got.Resources, want)
	}
	if sum := sumOf(want); got.Totals != sum {
		t.Errorf("--json has totals %+v, want %+v", got.Totals, sum)
	}
}

func sumOf(entries []jsonEntry) (sum totals) {
	for _, e := range entries {
		sum.Files++
		sum.Bytes += e.Size
	}
	return sum
}

// compareTree reads the names back out of the tree, with the marks of those that are too large.
func compareTree(t *testing.T, args []string, want []jsonEntry) {
	lines := strings.Split(strings.TrimSuffix(printed(t, append([]string{"list"}, args...)...), "\n"), "\n")
	last := len(lines) - 1
	sum := sumOf(want)
	limit := defaults().maxSize
	for _, arg := range args {
		if text, ok := strings.CutPrefix(arg, "--max-size="); ok {
			must(t, (&size{"--max-size", &limit}).Set(text))
		}
	}
	var wanted []string
	tooLarge := 0
	for _, e := range want {
		mark := ""
		if e.Size > limit {
			mark = "  (too large to read)"
			tooLarge++
		}
		wanted = append(wanted, e.Name+mark)
	}
	noun := map[bool]string{true: "file", false: "files"}[sum.Files == 1]
	totals := fmt.Sprintf("%d %s, %s", sum.Files, noun, humanSize(sum.Bytes))
	if tooLarge > 0 {
		totals += fmt.Sprintf("; %d too large to read, above --max-size %v", tooLarge, &size{value: &limit})
	}
	if lines[last] != totals {
		t.Errorf("the tree ends with %q, want %q", lines[last], totals)
	}
	var in, names []string
	for _, line := range lines[:last] {
		name := string([]rune(line)[sizeWidth+2+typeWidth+2:])
		depth := (len(name) - len(strings.TrimLeft(name, " "))) / 2
		name = strings.TrimLeft(name, " ")
		in = in[:depth]
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			in = append(in, dir)
		} else {
			names = append(names, strings.Join(append(slices.Clone(in), name), "/"))
		}
	}
	if !slices.Equal(names, wanted) {
		t.Errorf("the tree has\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(wanted, "\n"))
	}
}
