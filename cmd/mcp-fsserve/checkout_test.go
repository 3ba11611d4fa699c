package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestCheckoutIsAFewChangesOfTheList switches a repository between two branches of 2,000 files, of which half differ, a
// quarter is in one branch only and a quarter is the same. Every file that differs is announced, no other, and the list
// changes 4 times at most, if that takes no more than a second, though git makes thousands of names come and go.
func TestCheckoutIsAFewChangesOfTheList(t *testing.T) {
	r := newRepository(t)
	here, there := branchFiles("here"), branchFiles("there")
	r.commit("here", here)
	r.commit("there", there)
	var uris []string
	differ := map[string]bool{}
	for name := range maps.Keys(union(here, there)) {
		uri := "test://" + name
		uris = append(uris, uri)
		if here[name] != there[name] {
			differ[uri] = true
		}
	}
	s := startSession(t, "mcp-fsserve", "--uri-base", "test://", r.dir)
	s.send("subscriptions/listen", map[string]any{"notifications": map[string]any{
		"resourcesListChanged": true, "resourceSubscriptions": uris}})
	if m := s.next(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("the server sent %+v", m)
	}
	for _, branch := range []string{"here", "there", "here"} {
		start := time.Now()
		r.git("checkout", "-q", branch)
		told := map[string]int{}
		listChanges := 0
		for missing := len(differ); missing > 0 || listChanges == 0; {
			if uri, list := s.change(); list {
				listChanges++
			} else if told[uri]++; told[uri] == 1 && differ[uri] {
				missing--
			}
		}
		took := time.Since(start)
		for over := time.After(2 * time.Second); ; { // longer than what is owed to a listener can wait
			uri, list, more := s.changeBefore(over)
			if !more {
				break
			}
			if list {
				listChanges++
			} else {
				told[uri]++
			}
		}
		t.Logf("checkout of %s: %d changes of the list, %d files told of %d times", branch, listChanges, len(told), sum(told))
		if most := max(4, int(took/(500*time.Millisecond))+2); listChanges > most { // one each 500 ms may be told
			t.Errorf("%d changes of the list by a checkout of %s within %v", listChanges, branch, took)
		}
		for uri := range told {
			if !differ[uri] {
				t.Errorf("%s was told to have changed by a checkout of %s", uri, branch)
			}
		}
		entries, _ := s.walk()
		if want := len(branchFiles(branch)); len(entries) != want {
			t.Errorf("%d files are listed after a checkout of %s, %d are there", len(entries), branch, want)
		}
	}
	s.end()
}

// branchFiles are the texts of 2,000 files by name, in 50 directories.
func branchFiles(branch string) map[string]string {
	files := make(map[string]string, 2000)
	for i := range 2000 {
		name, text := fmt.Sprintf("d%02d/f%04d.md", i%50, i), "the same\n"
		switch i % 4 {
		case 0, 1:
			text = branch + "\n"
		case 2:
			name = fmt.Sprintf("only-%s%02d/f%04d.md", branch, i%10, i)
		}
		files[name] = text
	}
	return files
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// repository is a git repository in a directory of its own.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	r := &repository{t, t.TempDir()}
	r.git("init", "-q")
	return r
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// commit makes a branch of exactly these files and checks it out.
func (r *repository) commit(branch string, files map[string]string) {
	r.git("checkout", "-q", "--orphan", branch)
	r.git("rm", "-rfq", "--ignore-unmatch", ".")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(r.dir, filepath.FromSlash(name))
		must(r.t, os.MkdirAll(filepath.Dir(file), 0o777))
		must(r.t, os.WriteFile(file, []byte(files[name]), 0o666))
	}
	r.git("add", "--all")
	r.git("commit", "-q", "-m", branch)
}

// change is the next notification: the URI of an update, or that the list has changed.
func (s *session) change() (uri string, list bool) {
	s.t.Helper()
	uri, list, ok := s.changeBefore(time.After(patience))
	if !ok {
		s.t.Fatal("the server says nothing")
	}
	return uri, list
}

func (s *session) changeBefore(over <-chan time.Time) (uri string, list, ok bool) {
	s.t.Helper()
	select {
	case frame, open := <-s.frames:
		if !open {
			s.t.Fatal("the server ended")
		}
		m := parseMessage(s.t, frame)
		switch m.Method {
		case "notifications/resources/updated":
			return m.Params.URI, false, true
		case "notifications/resources/list_changed":
			return "", true, true
		}
		s.t.Fatalf("the server sent %s", frame)
	case <-over:
	}
	return "", false, false
}
