package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// row is one line of a table: what is measured.
type row struct {
	Table string `json:"table"`
	Name  string `json:"name"`
	Unit  string `json:"unit"`
}

// sheet gathers what is measured, in the order in which it first comes.
type sheet struct {
	rows    []row
	servers []string                     // the columns; of the tables of growth, what has grown
	values  map[row]map[string][]float64 // by server, one of each round
	notes   []string                     // what could not be measured, and why
}

func newSheet(peers []peer) *sheet {
	s := &sheet{values: map[row]map[string][]float64{}}
	for _, p := range peers {
		s.servers = append(s.servers, p.name)
	}
	return s
}

func (s *sheet) add(r row, server string, value float64) {
	if s.values[r] == nil {
		s.values[r] = map[string][]float64{}
		s.rows = append(s.rows, r)
	}
	if !slices.Contains(s.servers, server) {
		s.servers = append(s.servers, server)
	}
	s.values[r][server] = append(s.values[r][server], value)
}

// note says once what is not in the tables.
func (s *sheet) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(s.notes, n) {
		s.notes = append(s.notes, n)
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// write writes the tables in Markdown: medians and, behind a median of another server, how many times ours it is.
func (s *sheet) write(w io.Writer) {
	for _, table := range s.tables() {
		rows := slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return r.Table != table })
		servers := slices.DeleteFunc(slices.Clone(s.servers), func(server string) bool {
			return !slices.ContainsFunc(rows, func(r row) bool { return s.values[r][server] != nil })
		})
		fmt.Fprintf(w, "\n### %s\n\n| | %s |\n|---|%s\n", table, strings.Join(servers, " | "), strings.Repeat("---:|", len(servers)))
		for _, r := range rows {
			fmt.Fprintf(w, "| %s, %s |", r.Name, r.Unit)
			for _, server := range servers {
				fmt.Fprintf(w, " %s |", s.cell(r, server))
			}
			fmt.Fprintln(w)
		}
	}
	if len(s.notes) > 0 {
		fmt.Fprintf(w, "\nNot in the tables:\n\n")
		for _, n := range s.notes {
			fmt.Fprintf(w, "- %s\n", n)
		}
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

func (s *sheet) cell(r row, server string) string {
	values := s.values[r][server]
	if values == nil {
		return ""
	}
	m, first := median(values), s.servers[0]
	if base := s.values[r][first]; server != first && base != nil && median(base) > 0 {
		return fmt.Sprintf("%s (%sx)", plain(m), times(m/median(base)))
	}
	return plain(m)
}

// times writes a ratio with two digits that count, or more before the point.
func times(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// plain writes a number with three digits that count.
func plain(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
