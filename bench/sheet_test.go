package main

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The tables have medians, and how many times the first of a row they are.
func TestTables(t *testing.T) {
	s := newSheet([]peer{{name: "ours"}, {name: "other"}, {name: "silent"}})
	r := row{"Requests", "read", "µs"}
	for _, v := range []float64{30, 10, 20} {
		s.add(r, "ours", v)
		s.add(r, "other", 4*v)
	}
	s.add(row{"Requests", "list", "µs"}, "ours", 2)
	s.add(row{"Requests", "list", "µs"}, "other", 480)
	s.add(row{"Requests", "throughput", perSecond}, "other", 3)
	s.add(row{"Requests", "throughput", perSecond}, "third", 6)
	s.add(row{"Growth", "memory", "B"}, "1,000 files", 7)
	s.add(row{"Growth", "memory", "B"}, "2,000 files", 14)
	s.note("something of %s", "silent")
	s.note("something of %s", "silent")
	s.fail("listens of silent", errors.New("it is\nsilent"))
	s.fail("listens of other", errors.New("late"))
	s.fail("listens of other", errors.New("later"))
	const want = `
### Requests

| | ours | other | third |
|---|---:|---:|---:|
| read, µs | 20.0 | 80.0 (4x) |  |
| list, µs | 2.00 | 480 (240x) |  |
| throughput, 1/s (more is better) |  | 3.00 | 6.00 (2x) |

### Growth

| | 1,000 files | 2,000 files |
|---|---:|---:|
| memory, B | 7.00 | 14.0 (2x) |

To know of the tables:

- something of silent

Not in the tables, or not of all rounds:

- listens of silent: it is
- listens of other: failed 2 times, first with: late
`
	if text := s.text(); text != want {
		t.Errorf("the tables are\n%s\nwant\n%s", text, want)
	}
	if err := s.err(); err == nil || !strings.Contains(err.Error(), "2 of the measures failed") {
		t.Errorf("the error is %v", err)
	}
}

// Keys of the JSON are written alike, and what there is none of is an empty list.
func TestJSON(t *testing.T) {
	s := newSheet([]peer{{name: "ours"}})
	s.add(row{"Requests", "read", "µs"}, "ours", 30)
	text, err := s.json(machine{Servers: []string{"ours"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range regexp.MustCompile(`"([^"]*)":`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(key[1]) {
			t.Errorf("a key is %q", key[1])
		}
	}
	var said map[string]any
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"values", "notes", "failures"} {
		if _, isList := said[key].([]any); !isList {
			t.Errorf("%s are %v in %s", key, said[key], text)
		}
	}
}

// What is no number, or nothing to divide by, makes no ratio and no value.
func TestFiguresThatAreNone(t *testing.T) {
	s := newSheet([]peer{{name: "ours"}, {name: "other"}})
	r := row{"T", "r", "MB"}
	for _, c := range []struct {
		ours, other float64
		want        string
	}{
		{0, 5, ""}, {0.004, 5, ""}, {5, 0, ""}, {-1, 5, ""}, {5, -1, ""}, // too small to tell, or given back
		{1, 2000, " (>1000x)"}, {1000, 0.5, " (<0.001x)"}, {2, 1, " (0.5x)"}, {1, 9.96, " (10x)"}, {3, 1, " (0.33x)"},
	} {
		s.values = map[row]map[string][]float64{r: {"ours": {c.ours}, "other": {c.other}}}
		if got := s.ratio(r, "other", "ours"); got != c.want {
			t.Errorf("%v is%q of %v, want%q", c.other, got, c.ours, c.want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s = newSheet(nil)
		if s.add(r, "ours", v); len(s.values) > 0 || s.err() == nil {
			t.Errorf("%v is a figure, and the error %v", v, s.err())
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", -0.001: "0", 0.005: "0.01", 9.994: "9.99", 9.996: "10.0", 99.94: "99.9", 99.96: "100",
		-12.34: "-12.3", 1234.5: "1234"} {
		if got := plain(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
	for n, want := range map[int]string{1: "1 file", 999: "999 files", 1000: "1,000 files", 1_000_050: "1,000,050 files"} {
		if got := counted(n, "file"); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestMediansAndQuantiles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{7}, 7}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.values, got, c.want)
		}
	}
	for _, c := range []struct {
		n    int
		q    float64
		want time.Duration
	}{{1, 0.5, 1}, {1, 0.99, 1}, {2, 0.5, 1}, {2, 0.99, 2}, {8, 0.99, 8}, {100, 0.99, 99}, {200, 0.99, 198}, {200, 0.5, 100}} {
		l := load{}
		for i := range c.n {
			l.took = append(l.took, time.Duration(i+1))
		}
		if got := l.quantile(c.q); got != c.want {
			t.Errorf("of %d the quantile %v is number %d, want %d", c.n, c.q, got, c.want)
		}
	}
}
