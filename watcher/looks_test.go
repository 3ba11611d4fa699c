package watcher

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// unsettled has the consumer call path unsettled whenever it is named without settled evidence.
func (l *lab) unsettled(path string) {
	l.each(func(b Batch) {
		if slices.ContainsFunc(b.Dirty, func(d Dirty) bool { return d.Path == path && d.Evidence&Settled == 0 }) {
			l.reply.Unsettled = []string{path}
		}
	})
}

func TestUnsettledNameIsToldAgain(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.tells("write f",
			"2ms f:content",
			"27ms f:settled")
	})
}

// A file that is written to without a pause has its second look all the same.
func TestBusyNameSettlesInTime(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.hush()
		start := time.Now()
		for range 8 {
			l.do("write f")
			l.idle(4 * time.Millisecond)
		}
		l.toldSince(start, "2ms f:content\n6ms f:content\n10ms f:content\n14ms f:content\n18ms f:content\n"+
			"22ms f:content\n26ms f:content\n27ms f:settled\n30ms f:content")
	})
}

// A name that was taken away and made again is as new as it was.
func TestNameMadeAgainSettlesAnew(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.hush()
		start := time.Now()
		l.do("write f")
		l.idle(20 * time.Millisecond)
		l.do("rm f; write f")
		l.idle(time.Second)
		l.toldSince(start, "2ms f:content\n22ms f:content|structure\n47ms f:settled")
	})
}

// A path that came back at its second look and went for good is settled when it has been away for long enough.
func TestNameThatWentForGoodAfterAll(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.hush()
		start := time.Now()
		l.do("rm f")
		l.idle(26 * time.Millisecond) // the window closed after 2 ms
		l.do("write f")
		l.idle(1500 * time.Microsecond) // there at the second look
		l.do("rm f")
		l.idle(time.Second)
		l.toldSince(start, "54.5ms f:content|structure|settled")
	})
}

// The name was made for a moment only: that it has gone is told once it has been away long enough.
func TestUnsettledNameThatGoes(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.unsettled("f")
		l.hush()
		start := time.Now()
		l.do("write f")
		l.idle(10 * time.Millisecond)
		l.do("rm f")
		l.idle(time.Second)
		l.toldSince(start, "2ms f:content\n37ms f:structure|settled")
	})
}

// What comes and goes all the while is named, and never called settled.
func TestFlickeringNameIsNotSettled(t *testing.T) {
	bubble(t, Options{}, nil, func(l *lab) {
		l.hush()
		for range 40 {
			l.do("write f")
			l.idle(time.Millisecond)
			l.do("rm f")
			l.idle(9 * time.Millisecond)
		}
		told := l.hush()
		if len(told) < 3 {
			l.Fatalf("told %v", told)
		}
		for _, b := range told {
			if b.Dirty[0].Evidence&Settled != 0 {
				l.Errorf("settled at %v", b.at)
			}
		}
	})
}

// A name that came and went between its second look and the window that takes the events is not settled by that look.
func TestEventsOnTheWayKeepANameUnsettled(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.unsettled("g")
		l.hush()
		start := time.Now()
		l.do("rm f; write g")
		l.idle(26 * time.Millisecond)
		l.do("write f; rm f; rm g; write g")
		l.idle(time.Second)
		l.toldSince(start, "2ms g:content\n28ms g:content|structure\n53ms f:content|structure|settled g:settled")
	})
}

// What is there when its time is up is told, but it is not what the second look was to confirm.
func TestNameThatIsThereAtTheLastLookIsNotSettled(t *testing.T) {
	bubble(t, Options{}, func(l *lab) { l.do("write f") }, func(l *lab) {
		l.hush()
		start := time.Now()
		l.do("rm f")
		for range 3 {
			l.idle(25 * time.Millisecond)
			l.do("write f; rm f")
		}
		l.idle(27*time.Millisecond - 1) // since the first window closed 100 ms have passed
		l.do("write f")
		l.idle(time.Second)
		l.toldSince(start, "102ms f:content|structure\n103.999999ms f:content")
	})
}

// A walk takes its time: what was away before it may come and go meanwhile.
func TestNameThatComesAndGoesDuringRepairIsNotSettled(t *testing.T) {
	walk := func() {}
	skip := func(string) bool {
		walk()
		return false
	}
	bubble(t, Options{Skip: skip}, func(l *lab) { l.do("mkdir d; write f") }, func(l *lab) {
		l.hush()
		start := time.Now()
		l.do("rm f")
		l.idle(25 * time.Millisecond)
		walk = func() {
			walk = func() {}
			time.Sleep(10 * time.Millisecond)
			l.do("write f; rm f")
			time.Sleep(time.Millisecond)
		}
		l.limitQueue(1)
		l.do("write g; write h")
		l.limitQueue(0)
		l.idle(time.Second)
		l.toldSince(start, "38ms g:content rescan .\n64ms f:content|structure|settled")
	})
}

// patient is a consumer that counts a name as new or gone when a second look has found it so.
type patient struct {
	*lab
	there, known map[string]bool
	changed      map[string]time.Time
	lossy        bool // what spoke against a name may have been lost
}

func (p *patient) flip(name string) {
	p.tellMu.Lock()
	defer p.tellMu.Unlock()
	if p.there[name] = !p.there[name]; p.there[name] {
		p.do("write " + name)
	} else {
		p.do("rm " + name)
	}
	p.changed[name] = time.Now()
}

func (p *patient) look(b Batch) {
	p.tellMu.Lock()
	defer p.tellMu.Unlock()
	told := map[string]Evidence{}
	if slices.Contains(b.Rescan, "") {
		for name := range p.there {
			told[name] = 0
		}
	}
	for _, d := range b.Dirty {
		told[d.Path] = d.Evidence
	}
	for name, e := range told {
		there, ours := p.there[name]
		switch {
		case !ours || there == p.known[name]:
		case e&Settled == 0:
			p.reply.Unsettled = append(p.reply.Unsettled, name)
		default:
			p.known[name] = there
			if age := time.Since(p.changed[name]); age > 0 && age < secondLook && !p.lossy {
				p.Errorf("%s is called settled after %v", name, age)
			}
		}
	}
}

// TestSettledStorm has names come and go among bursts, long walks and losses. What is learnt from a second look has been so for
// 25 ms, and in the end all is known.
func TestSettledStorm(t *testing.T) {
	for _, seed := range storms(100) {
		rng, walker := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
		slow, lossy := rng.IntN(2) == 0, rng.IntN(2) == 0
		skip := func(string) bool {
			if slow && walker.IntN(4) == 0 {
				time.Sleep(time.Duration(walker.IntN(20)) * time.Millisecond)
			}
			return false
		}
		bubble(t, Options{Skip: skip}, func(l *lab) { l.do("mkdir d; mkdir e") }, func(l *lab) {
			none := map[string]bool{"f": false, "g": false, "h": false}
			p := &patient{lab: l, there: maps.Clone(none), known: none, changed: map[string]time.Time{}, lossy: lossy}
			l.each(p.look)
			for i := range 60 {
				for range 1 + rng.IntN(3) {
					p.flip(string("fgh"[rng.IntN(3)]))
				}
				if rng.IntN(20) == 0 {
					for j := range 300 {
						l.do(fmt.Sprintf("write n%d", j))
					}
				}
				if rng.IntN(10) == 0 {
					l.do(fmt.Sprintf("mkdir d%d", i))
				}
				if lossy && rng.IntN(10) == 0 {
					l.limitQueue(rng.IntN(2))
				}
				time.Sleep(time.Duration(rng.IntN(15_000)) * time.Microsecond)
			}
			l.idle(time.Second)
			p.tellMu.Lock()
			defer p.tellMu.Unlock()
			if !maps.Equal(p.known, p.there) {
				l.Errorf("%v are there, known are %v", p.there, p.known)
			}
			if l.Failed() {
				l.Fatalf("play it again with -storm.seed %d", seed)
			}
		})
	}
}
