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
		var k surveyCache
		found := &survey{sums: []uint64{1, 2}}
		k.keep(same, found, c.began)
		if got := k.of(c.asked, false); (got == found) != c.known || got != nil && !c.known {
			t.Errorf("%s: %v", name, got)
		}
		if k.forget(same); k.of(same, false) != nil || k.blocks != 0 {
			t.Errorf("%s: it is not forgotten, %d blocks", name, k.blocks)
		}
	}
	var k surveyCache
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
	var k surveyCache
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

// A state that has not told one content from another once is not gone by again: not for who asks for a measure, nor by a survey
// that was made meanwhile, nor when others have filled the room.
func TestAStateThatDoesNotTellIsNotGoneByAgain(t *testing.T) {
	old := time.Unix(1_700_000_000, 0)
	file := func(ino uint64) *stat { return &stat{ino: ino, ctime: old.Unix()} }
	found := func(asked bool) *survey { return &survey{sums: []uint64{1}, asked: asked} }
	for name, others := range map[string]int{"alone": 0, "among a few": mostSurveys - 1, "among many": 3 * mostSurveys} {
		var k surveyCache
		k.keep(file(0), found(false), old.Add(rest))
		k.keep(file(0), found(false), old.Add(rest)) // of who read it at the same time
		k.keep(file(0), found(true), old.Add(rest))
		k.forget(file(0))
		for ino := range uint64(others) {
			k.keep(file(ino+1), found(false), old.Add(rest))
		}
		for _, asked := range []bool{false, true} {
			k.keep(file(0), found(asked), old.Add(rest))
			if k.of(file(0), asked) != nil {
				t.Errorf("%s, measured %t: it is gone by", name, asked)
			}
		}
		if others > 0 && k.of(file(uint64(others)), false) == nil {
			t.Errorf("%s: another is not kept any more", name)
		}
	}
}

// To survey a file once more that is known, such as by two readers at once, costs no other its survey.
func TestWhatIsKnownTakesNoRoom(t *testing.T) {
	var k surveyCache
	old := time.Unix(1_700_000_000, 0)
	for ino := range uint64(mostSurveys) {
		k.keep(&stat{ino: ino, ctime: old.Unix()}, &survey{sums: []uint64{1}}, old.Add(rest))
	}
	k.keep(&stat{ctime: old.Unix()}, &survey{sums: []uint64{1}}, old.Add(rest))
	if n := len(k.known); n != mostSurveys {
		t.Errorf("%d surveys are left", n)
	}
}

// What was told of a file that had changed only just before says nothing of its state.
func TestAStateThatDidNotRestIsNotHeldAgainstAFile(t *testing.T) {
	var k surveyCache
	old := time.Unix(1_700_000_000, 0)
	s := &stat{ctime: old.Unix()}
	early, late := &survey{sums: []uint64{1}}, &survey{sums: []uint64{1}}
	if k.keep(s, early, old) {
		t.Error("it had changed just now, and its state is believed to tell")
	}
	if k.keep(s, late, old.Add(rest)); k.of(s, false) != late {
		t.Error("it is not kept")
	}
}

// States that do not tell are remembered in little room, the latest for certain.
func TestStatesThatDoNotTellAreFew(t *testing.T) {
	var k surveyCache
	old := time.Unix(1_700_000_000, 0)
	for ino := range uint64(3 * mostMute) {
		s := &stat{ino: ino, ctime: old.Unix()}
		if k.forget(s); len(k.mute) > mostMute {
			t.Fatalf("%d states", len(k.mute))
		}
		if k.keep(s, &survey{sums: []uint64{1}}, old.Add(rest)); k.of(s, false) != nil {
			t.Fatalf("state %d is believed", ino)
		}
	}
}
