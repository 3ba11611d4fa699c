package client

import (
	"errors"
	"testing"
	"time"
)

func TestListedResourcesAreFollowed(t *testing.T) {
	withLab(t, Want{Listed: true}, Options{}, func(f *fake) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			f.files["test://"+name] = name
		}
	}, func(l *lab) {
		l.expect("live 5 5 0")
		l.write("test://a", "A")
		l.expect("updated test://a")
		l.write("test://f", "f")
		l.expect("added test://f")
		l.write("test://f", "F")
		l.expect("updated test://f")
		l.write("test://b", "")
		l.expect("removed test://b")
	})
}

func TestWhatMayHaveBeenMissedIsTold(t *testing.T) {
	for _, read := range []bool{false, true} {
		withLab(t, Want{Listed: true, Read: read}, Options{}, func(f *fake) {
			f.files["test://a"], f.files["test://b"], f.files["test://c"] = "a", "b", "c"
		}, func(l *lab) {
			l.expect("live 3 3 0")
			l.cut(errors.New("cut"))
			l.expect("lost 1 499.999999ms")
			l.write("test://a", "A")
			l.write("test://b", "")
			l.write("test://d", "d")
			time.Sleep(time.Second)
			if read {
				l.expect("live 3 3 0", "removed test://b", "updated test://a A", "added test://d d")
			} else {
				l.expect("live 3 3 0", "removed test://b", "added test://d", "updated test://a", "updated test://c")
			}
		})
	}
}
