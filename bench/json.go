package main

import "encoding/json"

// json writes all values of all rounds.
func (s *sheet) json(m machine) (string, error) {
	type value struct {
		row
		Column string    `json:"column"`
		More   bool      `json:"more_is_better"`
		Median float64   `json:"median"`
		Rounds []float64 `json:"rounds"`
	}
	values := []value{}
	for _, r := range s.rows {
		for _, column := range s.columns {
			if rounds := s.values[r][column]; rounds != nil {
				values = append(values, value{r, column, r.moreIsBetter(), median(rounds), rounds})
			}
		}
	}
	notes := append([]string{}, s.notes...) // none are a list, too
	failures := []string{}
	for _, f := range s.failures {
		failures = append(failures, f.String())
	}
	text, err := json.MarshalIndent(map[string]any{"machine": m, "values": values, "notes": notes, "failures": failures}, "", "\t")
	return string(text) + "\n", err
}
