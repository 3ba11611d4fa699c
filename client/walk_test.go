package client

import (
	"testing"
	"time"
)

// A walk that began when the list was wanted before says nothing of what has happened until it is followed again.
func TestAWalkOfBeforeTheListWasWantedAgainIsNotLive(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, func(f *fake) {
		someFiles("a")(f)
		f.page = 100
	}, func(l *lab) {
		l.told()
		var early, late func()
		l.do(func() { early = l.answersLateLocked("resources/list") })
		l.write("test://b", "b") // has it walked
		time.Sleep(time.Second)
		l.set(Want{})
		time.Sleep(3 * time.Second) // nothing is listened to any more
		l.write("test://c", "c")
		l.told()
		l.do(func() { late = l.answersLateLocked("resources/list") })
		l.set(Want{List: true})
		l.do(early)
		l.expect()
		l.do(late)
		l.expect("live 3 0 0")
		time.Sleep(time.Minute)
		l.expect()
	})
}

// Nor is the connection lost for one that fails when nobody wants the list any more.
func TestAWalkThatNobodyWantsMayFail(t *testing.T) {
	withLab(t, Want{List: true}, Options{}, someFiles("a"), func(l *lab) {
		l.told()
		l.do(func() { l.mutesLocked("resources/list", 1) })
		l.write("test://b", "b")
		time.Sleep(time.Second)
		l.set(Want{})
		time.Sleep(5 * time.Minute) // far longer than an answer may take
		l.expect("live 0 0 0")
	})
}
