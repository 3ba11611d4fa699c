package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// row is one line of a table: what is measured.
type row struct {
	Table string `json:"table"`
	Name  string `json:"name"`
	Unit  string `json:"unit"` // "" for a number of things
}

// moreIsBetter reports whether a larger figure is the better one; of times and memory it is not.
func (r row) moreIsBetter() bool { return r.Unit == perSecond || r.Unit == streamsTold }

// Units of which more is better.
const (
	perSecond   = "1/s"
	streamsTold = "streams"
)

// adder files a figure of what is measured just now.
type adder func(what, unit string, value float64)

// sheet gathers what is measured, in the order in which it first comes.
type sheet struct {
	rows     []row
	columns  []string                     // servers; in tables of growth, what has grown
	values   map[row]map[string][]float64 // by column, one of each round
	notes    []string                     // what a reader of the tables must know
	failures []*failure
}

// failure is something that was to be measured and could not be.
type failure struct {
	what, why string
	times     int // that it failed, mostly one of each round; why is the first time's
}

func newSheet(peers []peer) *sheet {
	s := &sheet{values: map[row]map[string][]float64{}}
	for _, p := range peers {
		s.columns = append(s.columns, p.name)
	}
	return s
}

// add files a figure. One that is no number is a failure.
func (s *sheet) add(r row, column string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		s.fail(fmt.Sprintf("%s, %s of %s", r.Table, r.Name, column), fmt.Errorf("it came to %v %s", value, r.Unit))
		return
	}
	if s.values[r] == nil {
		s.values[r] = map[string][]float64{}
		s.rows = append(s.rows, r)
	}
	if !slices.Contains(s.columns, column) {
		s.columns = append(s.columns, column)
	}
	s.values[r][column] = append(s.values[r][column], value)
}

// note says once what a reader of the tables must know.
func (s *sheet) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(s.notes, n) {
		s.notes = append(s.notes, n)
	}
}

// fail says what is not in the tables, or not of all rounds.
func (s *sheet) fail(what string, err error) {
	for _, f := range s.failures {
		if f.what == what {
			f.times++
			return
		}
	}
	s.failures = append(s.failures, &failure{what: what, why: brief(err), times: 1})
}

func (f failure) String() string {
	if f.times > 1 {
		return fmt.Sprintf("%s: failed %d times, first with: %s", f.what, f.times, f.why)
	}
	return f.what + ": " + f.why
}

// err tells that not all was measured.
func (s *sheet) err() error {
	if n := len(s.failures); n > 0 {
		return fmt.Errorf("%d of the measures failed, first %v", n, s.failures[0])
	}
	return nil
}

// median returns the middle of one or more values, or what is half way between the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// text writes the tables in Markdown: medians and, behind all but the first of a row, how many times that they are.
func (s *sheet) text() string {
	w := new(strings.Builder)
	for _, table := range s.tables() {
		rows := slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return r.Table != table })
		columns := slices.DeleteFunc(slices.Clone(s.columns), func(column string) bool {
			return !slices.ContainsFunc(rows, func(r row) bool { return s.values[r][column] != nil })
		})
		fmt.Fprintf(w, "\n### %s\n\n| | %s |\n|---|%s\n", table, strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
		for _, r := range rows {
			fmt.Fprintf(w, "| %s", r.Name)
			if r.Unit != "" {
				fmt.Fprintf(w, ", %s", r.Unit)
			}
			if r.moreIsBetter() {
				fmt.Fprint(w, " (more is better)")
			}
			first := columns[slices.IndexFunc(columns, func(column string) bool { return s.values[r][column] != nil })]
			for _, column := range columns {
				fmt.Fprintf(w, " | %s", s.cell(r, column))
				if column != first {
					fmt.Fprint(w, s.ratio(r, column, first))
				}
			}
			fmt.Fprintln(w, " |")
		}
	}
	writeList(w, "To know of the tables:", s.notes)
	writeList(w, "Not in the tables, or not of all rounds:", s.failures)
	return w.String()
}

func writeList[T any](w io.Writer, title string, items []T) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n\n", title)
	for _, item := range items {
		fmt.Fprintf(w, "- %v\n", item)
	}
}

func (s *sheet) tables() (names []string) {
	for _, r := range s.rows {
		if !slices.Contains(names, r.Table) {
			names = append(names, r.Table)
		}
	}
	return names
}

func (s *sheet) cell(r row, column string) string {
	if values := s.values[r][column]; values != nil {
		return plain(median(values))
	}
	return ""
}

// ratio says how many times the first figure of a row that of another column is, in brackets; nothing where one of them is
// missing, or too small to divide by.
func (s *sheet) ratio(r row, column, first string) string {
	values, base := s.values[r][column], s.values[r][first]
	if values == nil || base == nil || median(values) < tiniest || median(base) < tiniest {
		return ""
	}
	return " (" + times(median(values)/median(base)) + ")"
}

// tiniest is the least figure that plain does not write as zero.
const tiniest = 0.005

// times writes a positive ratio with two digits that count, or more before the point.
func times(v float64) string {
	switch {
	case v > 1000:
		return ">1000x"
	case v < 0.001:
		return "<0.001x"
	case v >= 9.95:
		return fmt.Sprintf("%.0fx", v)
	}
	return fmt.Sprintf("%.2gx", v)
}

// plain writes a number with three digits that count, and no more than two behind the point.
func plain(v float64) string {
	switch size := math.Abs(v); {
	case size < tiniest:
		return "0"
	case size < 9.995:
		return fmt.Sprintf("%.2f", v)
	case size < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// grouped writes a whole number with its digits in groups of three.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// counted writes how many of something there are.
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + one + "s"
}
