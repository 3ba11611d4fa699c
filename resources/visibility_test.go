package resources

import (
	"slices"
	"strings"
	"testing"
)

func TestHiddenByDefault(t *testing.T) {
	p := serve(t, "a", ".b", ".d/a", "d/.e/a", "d/.f", "x.pem", "X.PEM", "d/id_rsa", "d/id_rsa.pub", "Id_Ed25519", ".env", ".env.local", "k.kdbx", "c.p12",
		"credentials.json", "credentials-x.json", "credentials.txt", "my.key", "keys.md", "d/a.pem.md", "certs.pem/readme.md").load()
	p.wantList("a", "credentials.txt", "keys.md", "d/a.pem.md")
	p.wantAbsent(".b", ".d/a", "d/.e/a", "d/.f", "x.pem", "X.PEM", "d/id_rsa", ".env", "credentials.json", "certs.pem/readme.md", "certs.pem/", ".d/")
	p.wantText("keys.md", "content of keys.md")
}

func TestIgnoreFilesNest(t *testing.T) {
	p := serve(t, "a.log", "a.md", "d/a.log", "d/keep.log", "d/a.md", "d/e/x.tmp", "out/a", "out/keep", "d/out/a", "e/secret.txt", "e/public.txt")
	p.write(".gitignore", "*.log\n/out/\n!/out/keep\n")
	p.write("d/.gitignore", "!keep.log\n*.tmp\n")
	p.write("e/.mcpignore", "*.txt\n!public.txt\n")
	p.write("out/.gitignore", "!*\n") // below an excluded directory nothing comes back
	p.load()
	p.wantList("a.md", "d/a.md", "d/keep.log", "d/out/a", "e/public.txt")
	p.wantAbsent("a.log", "out/a", "out/keep", "d/e/x.tmp", "e/secret.txt", "out/", ".gitignore")
	for dir, want := range map[string]bool{"": false, "d": false, "d/e": false, "out": true, "out/x": true, ".git": true, "d/.x": true, "d/new": false, "new/out": false} {
		if got := p.Skip(dir); got != want {
			t.Errorf("Skip(%q) = %v", dir, got)
		}
	}
}

// TestRulesBeforeLoad: reads and Skip judge by the ignore files on the disk when the index does not know them yet.
func TestRulesBeforeLoad(t *testing.T) {
	p := serve(t, "d/e/a.log", "d/e/a.md", "d/out/a")
	p.write("d/.gitignore", "*.log\nout/\n")
	p.wantText("d/e/a.md", "content of d/e/a.md")
	p.wantAbsent("d/e/a.log", "d/out/a")
	if !p.Skip("d/out") || p.Skip("d/e") {
		t.Error("Skip does not know the rules")
	}
}

func TestMCPIgnoreContinuesGitignore(t *testing.T) {
	p := serve(t, "a.log", "b.log", "c.md")
	p.write(".gitignore", "*.log\n")
	p.write(".mcpignore", "!b.log\nc.md\n")
	p.load()
	p.wantList("b.log")
}

func TestVerdictNamesItsRule(t *testing.T) {
	p := serve(t, "d/a.log", "d/e/f/x")
	p.write("d/.gitignore", "# comment\n*.log\ne\n")
	p.load()
	v := p.judge("d/a.log", false)
	if v.by != ignored || v.rule.file != "d/.gitignore" || v.rule.line != 2 || v.rule.text != "*.log" || v.at != "d/a.log" {
		t.Errorf("%+v", v)
	}
	if v := p.judge("d/e/f/x", false); v.by != ignored || v.at != "d/e" || v.rule.line != 3 {
		t.Errorf("%+v", v)
	}
	if v := p.judge("d/.x/y", false); v.by != dotName || v.at != "d/.x" {
		t.Errorf("%+v", v)
	}
	if v := p.judge("d/x.pem", false); v.by != credential {
		t.Errorf("%+v", v)
	}
}

func TestIgnoreEditsAreLive(t *testing.T) {
	p := serve(t, "a.log", "a.md", "d/a.log", "d/e/a").watch()
	p.wantList("a.log", "a.md", "d/a.log", "d/e/a")
	apply := func(wantRewalk string, list bool, keys string, paths ...string) {
		t.Helper()
		c, reply := p.Apply(dirty(cont, paths...))
		rewalk := reply.Rewalk
		for i := range c.Keys {
			c.Keys[i] = strings.TrimPrefix(c.Keys[i], "test://")
		}
		if !slices.Equal(rewalk, strings.Fields(strings.ReplaceAll(wantRewalk, "root", " "))) && !(wantRewalk == "root" && slices.Equal(rewalk, []string{""})) {
			t.Errorf("rewalk %q, want %q", rewalk, wantRewalk)
		}
		if strings.Join(c.Keys, " ") != keys || c.List != list {
			t.Errorf("keys %q, list %v; want %q, %v", c.Keys, c.List, keys, list)
		}
	}
	p.write(".gitignore", "*.log\n")
	apply("root", true, "a.log d/a.log", ".gitignore")
	p.wantList("a.md", "d/e/a")
	apply("root", false, "", ".gitignore") // the same bytes: there may have been others in between
	p.write("d/.mcpignore", "!a.log\ne/\n")
	apply("d", true, "d/a.log d/e/ d/e/a", "d/.mcpignore")
	p.wantList("a.md", "d/a.log")
	p.remove(".gitignore")
	apply("root", true, "a.log", ".gitignore")
	p.wantList("a.log", "a.md", "d/a.log")
	p.remove("d/.mcpignore")
	c, reply := p.Apply(rescan("d"))
	rewalk := reply.Rewalk
	if !c.List || !slices.Equal(rewalk, []string{"d"}) {
		t.Errorf("a rescan finds the edit: %+v, %q", c, rewalk)
	}
	p.wantList("a.log", "a.md", "d/a.log", "d/e/a")
}

func TestIgnoreFileIsALink(t *testing.T) {
	p := serve(t, "a", "rules", ".gitignore -> rules")
	p.write("rules", "a\n")
	p.load()
	p.wantList("a", "rules")
}
