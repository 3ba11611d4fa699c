package resources

import (
	"testing"
	"time"
)

func TestSurveysAreKeptOfWhatRests(t *testing.T) {
	at := time.Unix(1_700_000_000, 5)
	file := func(change func(*stat)) *stat {
		s := &stat{dev: 1, ino: 2, size: 100_000, mtime: 3, mtimeNano: 4, ctime: at.Unix(), ctimeNano: 5}
		change(s)
		return s
	}
	same := file(func(*stat) {})
	for name, c := range map[string]struct {
		began time.Time
		asked *stat
		known bool
	}{
		"as it was":                  {at.Add(rest), file(func(s *stat) { s.mode, s.nlink = 0o600, 2 }), true},
		"it had changed just now":    {at.Add(rest - 1), same, false},
		"its time is to come":        {at.Add(-time.Hour), same, false},
		"another file":               {at.Add(rest), file(func(s *stat) { s.ino++ }), false},
		"of another disk":            {at.Add(rest), file(func(s *stat) { s.dev++ }), false},
		"another size":               {at.Add(rest), file(func(s *stat) { s.size++ }), false},
		"written to":                 {at.Add(rest), file(func(s *stat) { s.mtimeNano++ }), false},
		"written to, mtime put back": {at.Add(rest), file(func(s *stat) { s.ctimeNano++ }), false},
	} {
		var k surveys
		found := &survey{sums: []uint64{1, 2}}
		k.keep(same, found, c.began)
		if got := k.of(c.asked, false); (got == found) != c.known || got != nil && !c.known {
			t.Errorf("%s: %v", name, got)
		}
		k.forget(same, &survey{}) // one that was kept before
		if k.of(c.asked, false) == nil && c.known {
			t.Errorf("%s: another survey is forgotten", name)
		}
		if k.forget(same, found); k.of(same, false) != nil || k.blocks != 0 {
			t.Errorf("%s: it is not forgotten, %d blocks", name, k.blocks)
		}
	}
	var k surveys
	k.keep(same, &survey{sums: []uint64{1}}, at.Add(rest))
	measured := &survey{sums: []uint64{1}, asked: true}
	if k.of(same, true) != nil {
		t.Error("one without a measure is had by who asks for that")
	}
	if k.keep(same, measured, at.Add(rest)); k.of(same, true) != measured || k.of(same, false) == measured {
		t.Error("the two are not told apart")
	}
	unknown := file(func(s *stat) { s.ctime, s.ctimeNano = 0, 0 })
	if k.keep(unknown, &survey{sums: []uint64{1}}, at); k.of(unknown, false) != nil {
		t.Error("a system that does not tell when a file has changed is believed")
	}
}

func TestSurveysAreFew(t *testing.T) {
	var k surveys
	old := time.Unix(1_700_000_000, 0)
	keep := func(ino uint64, blocks int) bool {
		s := &stat{ino: ino, ctime: old.Unix()}
		k.keep(s, &survey{sums: make([]uint64, blocks)}, old.Add(rest))
		if len(k.known) > mostSurveys || k.blocks > mostBlocks {
			t.Fatalf("%d surveys of %d blocks", len(k.known), k.blocks)
		}
		return k.of(s, false) != nil
	}
	for ino := range uint64(3 * mostSurveys) {
		if !keep(ino, 1) {
			t.Fatal("it is not kept")
		}
	}
	for ino := range uint64(10) {
		if !keep(1000+ino, mostBlocks/3) {
			t.Fatal("a large one is not kept")
		}
	}
	if keep(2000, mostBlocks+1) {
		t.Error("one that is too large is kept")
	}
}
