package main

import (
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-fsserve/mcp-fsserve/resources"
)

func TestSizesReadAndShowUnits(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1023": 1023, "1k": 1 << 10, "1K": 1 << 10, "64M": 64 << 20, "2g": 2 << 30, "8589934591G": 8589934591 << 30,
		strconv.Itoa(math.MaxInt64): math.MaxInt64,
	} {
		var got int64
		s := size{"--max-size", &got}
		if err := s.Set(text); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
		var again int64
		if err := (&size{"--max-size", &again}).Set(s.String()); err != nil || again != want {
			t.Errorf("%d shows as %s, which is %d, %v", want, s.String(), again, err)
		}
	}
	for _, text := range []string{"", "k", "0", "0k", "-1", "+1", "1.5M", "1 M", "1KiB", "1kk", "0x10", "8589934592G", "9223372036854775808"} {
		var got int64
		if err := (&size{"--max-size", &got}).Set(text); err == nil || got != 0 {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
}

func TestNumbersKeepToTheirBounds(t *testing.T) {
	for text, good := range map[string]bool{"1": true, "9": true, "10": true, "0": false, "11": false, "-1": false, "": false, "1e1": false, "99999999999999999999": false} {
		var got int
		if err := (&wholeNumber{"--n", &got, 10}).Set(text); (err == nil) != good {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestDurationWithoutAUnitGetsAHint(t *testing.T) {
	var got time.Duration
	d := &duration{"--ttl", &got, 0}
	for text, want := range map[string]string{"30": "for seconds write 30s", "": "", "soon": "", "-5s": ""} {
		wrong, ok := d.Set(text).(*valueError)
		if !ok || wrong.hint != want {
			t.Errorf("%q: %v", text, wrong)
		}
	}
	for text, want := range map[string]string{"30m": "30m", "2h": "2h", "90s": "1m30s", "0": "0s", "10s": "10s", "1h0m5s": "1h0m5s", "100m": "1h40m"} {
		if err := d.Set(text); err != nil || d.String() != want {
			t.Errorf("%s shows as %s, %v, want %s", text, d, err, want)
		}
	}
	if err := (&duration{"--keepalive", &got, time.Second}).Set("999ms"); err == nil || err.Error() != "--keepalive must be 1s or more, not 999ms" {
		t.Errorf("less than the least: %v", err)
	}
	if err := d.Set("1m30s"); err != nil || got != 90*time.Second {
		t.Errorf("%v, %v", got, err)
	}
}

// TestGlobErrorsCountCharacters: the place is one that a reader can count to, not one of bytes.
func TestGlobErrorsCountCharacters(t *testing.T) {
	var got []*resources.Glob
	g := &globs{"--include", &got, resources.ParseGlob}
	for text, want := range map[string]string{"日本/[a": ", at character 4: ", "[a": ", at character 1: ", "a\\": ", at character 2: ", "": "is an empty text"} {
		if err := g.Set(text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--include ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := g.Set("a,b"); err != nil || len(got) != 1 || got[0].String() != "a,b" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestHumanSizes(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 KiB", 1024: "1.0 KiB", 1234: "1.2 KiB", 10188: "9.9 KiB", 10189: "10 KiB", 1_023_487: "999 KiB",
		1_023_488: "1.0 MiB", 16 << 20: "16 MiB", 5 << 40: "5.0 TiB", math.MaxInt64: "8.0 EiB",
	} {
		if got := humanSize(bytes); got != want || len(got) > sizeWidth {
			t.Errorf("humanSize(%d) = %q, want %q", bytes, got, want)
		}
	}
}

// TestChildServesTheSame: the flags that listen passes on mean what they mean to itself.
func TestChildServesTheSame(t *testing.T) {
	p := &program{level: "info", format: "json", settings: defaults()}
	root := p.command()
	given := []string{"--include=a,b", "--include=*.md", "--exclude=-x.md", `--exclude=\--x`, "--unhide=.github/**", "--hidden", "--no-ignore", "--poll", "--max-size=3k",
		"--page-size=7", "--ttl=1m30s", "--uri-base=test://x/"}
	must(t, root.ParseFlags(given))
	all, err := parsePlace("n=~/x")
	must(t, err)
	args := p.server(config{places: []place{all}, settings: p.settings})
	again := &program{level: "warn", format: "text", settings: defaults()}
	other := again.command()
	must(t, other.ParseFlags(args))
	if got, want := again.server(config{places: []place{all}, settings: again.settings}), args; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("passed on twice, the flags are %q, once %q", got, want)
	}
	for _, want := range append(given[:5:5], "--hidden=true", "--no-ignore=true", "--poll=true", "--max-size=3072", "--page-size=7", "--ttl=1m30s", "--uri-base=test://x/", "--log-level=info") {
		if !strings.Contains(" "+strings.Join(args, " ")+" ", " "+want+" ") {
			t.Errorf("%q lacks %s", args, want)
		}
	}
}

func TestListensFitIntoDescriptors(t *testing.T) {
	for _, test := range []struct {
		addr                     string
		asked, descriptors, want int
	}{
		{"", 65_536, 1024, 65_536}, // a pipe carries any number
		{"127.0.0.1:80", 65_536, 1_048_576, 65_536},
		{"127.0.0.1:80", 65_536, 1024, 832},
		{"127.0.0.1:80", 800, 1024, 800},
		{"127.0.0.1:80", 900, 1024, 832},
		{"127.0.0.1:80", 900, 10, 1},
	} {
		s := defaults()
		s.web.addr, s.maxListens = test.addr, test.asked
		if s.fit(test.descriptors, slog.New(slog.DiscardHandler)); s.maxListens != test.want {
			t.Errorf("%+v: %d", test, s.maxListens)
		}
	}
}

func TestAddressesAreThoseOfThisMachine(t *testing.T) {
	for text, want := range map[string]string{
		"8080": "127.0.0.1:8080", "0": "127.0.0.1:0", ":8080": ":8080", "localhost:1": "localhost:1", "[::1]:80": "[::1]:80",
		"0.0.0.0:80": "0.0.0.0:80", "[fe80::1%eth0]:80": "[fe80::1%eth0]:80", "docs.example.com:443": "docs.example.com:443",
		"": "", "65536": "", "-1": "", "host": "", "::1": "", "::1:80": "", "http://a:80": "", "a:http": "", "a b:80": "", "a@b:80": "", "[::1]": "", "1.2.3.4": "",
		":": "", "a:": "", "unix:/x": "",
	} {
		var got string
		err := (&address{"--http", &got}).Set(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestPathsAreThoseThatNobodyChanges(t *testing.T) {
	for text, good := range map[string]bool{"/": true, "/mcp": true, "/a/b.c~d_e-f": true, "": false, "mcp": false, "/a/": false, "//": false, "/a//b": false,
		"/./a": false, "/a/..": false, "/a b": false, "/a%20b": false, "/a?b": false, "/\u00e4": false} {
		got := "before"
		err := (&endpointPath{"--path", &got}).Set(text)
		if (err == nil) != good || good != (got == text) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
