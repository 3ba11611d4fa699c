package client

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestNothingIsToldThatIsNotWantedAnyMore, of whichever kind it is, and though there was no connection when that was said.
func TestNothingIsToldThatIsNotWantedAnyMore(t *testing.T) {
	all := Want{Listed: true, Tools: true, Prompts: true, URIs: []string{"test://x"}, Extensions: map[string]jsonRaw{ticks: jsonRaw("5")}}
	change := func(l *lab) {
		l.do(func() {
			l.writeLocked("test://x", "X")
			l.writeLocked("test://a", "A")
			l.writeLocked("test://new", "new")
			for id := range l.last().listens {
				for _, method := range []string{"tools/list_changed", "prompts/list_changed", "ticked"} {
					l.last().notifyLocked(id, method, nil)
				}
			}
		})
	}
	t.Run("connected", func(t *testing.T) {
		withLab(t, all, Options{}, someFiles("a", "x"), func(l *lab) {
			l.expect("live 2 2 0")
			change(l)
			l.set(Want{URIs: []string{"test://b"}})
			l.expect("live 0 1 0")
		})
	})
	t.Run("not connected", func(t *testing.T) {
		withLab(t, all, Options{}, someFiles("a", "x"), func(l *lab) {
			l.expect("live 2 2 0")
			l.do(func() { l.mutesLocked("resources/list", 1) })
			l.cut(errors.New("cut"))
			time.Sleep(time.Second) // of what may have changed, some is owed once it is live
			change(l)
			l.cut(errors.New("cut again"))
			l.do(func() { l.mute = nil })
			l.set(Want{URIs: []string{"test://b"}})
			time.Sleep(time.Minute)
			l.expect("lost 2 999.999999ms", "live 0 1 0", "updated test://b")
			if list := l.c.Resources(); len(list) > 0 {
				t.Errorf("listed are %v", list)
			}
		})
	})
}

// TestWhatIsFollowedSinceItIsListedIsToldAlone: what was followed for itself is told no more if it is not listed.
func TestWhatIsFollowedSinceItIsListedIsToldAlone(t *testing.T) {
	withLab(t, Want{List: true, URIs: []string{"test://x"}}, Options{}, someFiles("a"), func(l *lab) {
		l.expect("live 1 1 0")
		l.do(func() { l.mutesLocked("resources/list", 1) })
		l.cut(errors.New("cut"))
		time.Sleep(time.Second)
		l.cut(errors.New("cut again"))
		l.do(func() { l.mute = nil })
		l.set(Want{Listed: true})
		time.Sleep(time.Minute)
		l.expect("lost 2 999.999999ms", "live 1 1 0", "updated test://a")
	})
}

// TestWhatIsStillWantedIsTold, though the filter changed while there was no connection.
func TestWhatIsStillWantedIsTold(t *testing.T) {
	withLab(t, Want{Listed: true, Read: true}, Options{}, someFiles("a", "b"), func(l *lab) {
		l.expect("live 2 2 0")
		l.write("test://a", "A")
		l.cut(errors.New("cut"))
		l.set(Want{Listed: true, Read: true, Tools: true})
		time.Sleep(time.Minute)
		if told := strings.Join(l.told(), ", "); !strings.HasPrefix(told, "updated test://a A, lost 1") {
			t.Errorf("told %s", told)
		}
	})
}

// TestAnExtensionIsJSONThatAServerCanRead, in a message that it takes.
func TestAnExtensionIsJSONThatAServerCanRead(t *testing.T) {
	for name, ext := range map[string]map[string]json.RawMessage{
		"a value that is not UTF-8":          {ticks: json.RawMessage("\"\xff\"")},
		"a name that is not UTF-8":           {"com.example/\xff": json.RawMessage("1")},
		"a value that is longer on the wire": {ticks: json.RawMessage(`"` + strings.Repeat("<", 700<<10) + `"`)},
	} {
		if _, err := (Want{Extensions: ext}).check(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := (Want{Extensions: map[string]json.RawMessage{ticks: json.RawMessage(`{"é": "<"}`)}}).check(); err != nil {
		t.Error(err)
	}
}
