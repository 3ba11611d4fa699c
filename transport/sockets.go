package transport

import (
	"container/heap"
	"runtime"
	"sync"
	"time"
)

// sockets has the streams of an endpoint speak that have taken their connections over: when they are woken, when their pace
// allows it, and when they were silent for long. Whoever is woken is served by one of as many goroutines as there are
// processors, which end when nobody is left to be served.
type sockets struct {
	e       *Endpoint
	lookout lookout

	// mu guards what follows, and what socket says. It is held for a few memory operations only.
	mu      sync.Mutex
	ready   queue[*socket]  // who is to be served
	workers int             // goroutines that serve
	alarms  timers[*socket] // each of who is to be served without being woken, when that is due or earlier
	timer   *time.Timer     // fires at the first, nil until there was one
	set     time.Time       // when that is, zero if it does not run
	group   time.Time       // when the comments of some are due
}

// newSocket makes a carrier that rings its bell until it has a connection.
func (s *sockets) newSocket() *socket {
	return &socket{of: s, bell: make(bell, 1), alarm: alarm{timer: -1}}
}

// newSocketOf makes one that carries the stream of a session, once it has a connection.
func (s *sockets) newSocketOf(session *httpSession) *socket {
	return &socket{of: s, session: session, alarm: alarm{timer: -1}}
}

// grid is how much earlier than it has to a comment may be sent, together with others.
func (s *sockets) grid() time.Duration { return s.e.opts.Keepalive / 16 }

// take makes a socket one that has a connection. Its caller holds it.
func (s *sockets) take(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.bell, k.busy = nil, true
}

// wake has a socket served.
func (s *sockets) wake(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.bell != nil {
		signal(k.bell)
		return
	}
	s.rouseLocked(k)
}

func (s *sockets) rouseLocked(k *socket) {
	if k.busy {
		k.again = true
	}
	if k.busy || k.shut || k.gone || k.ready.queued() {
		return
	}
	s.ready.push(&k.ready, k)
	if s.workers < runtime.GOMAXPROCS(0) {
		s.workers++
		go s.work()
	}
}

// work serves who is ready until nobody is.
func (s *sockets) work() {
	t := newTurn()
	defer t.drop()
	for k := s.first(); k != nil; k = s.first() {
		if k.turn(t) {
			s.release(k)
		}
	}
}

// first holds who is to be served next.
func (s *sockets) first() *socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.ready.first()
	if !ok {
		s.workers--
		return nil
	}
	k.ready.remove()
	k.busy = true
	return k
}

// release lets go of a socket. One with more to say than fits into a turn has another, behind those who wait.
func (s *sockets) release(k *socket) {
	s.mu.Lock()
	woken := k.again || !k.next.IsZero() && !k.next.After(k.said)
	k.busy, k.again = false, false
	gone := k.gone
	switch {
	case gone || k.shut:
	case woken:
		s.rouseLocked(k)
	default:
		s.alarmLocked(k)
	}
	s.mu.Unlock()
	if gone {
		s.e.unmoor(k)
	}
}

// limit sets when a client has to have taken what is written next, until unlimit.
func (s *sockets) limit(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	within := s.e.opts.WriteTimeout
	if k.ending.Load() {
		within = lastWords
	}
	k.limited = true
	_ = k.conn.SetWriteDeadline(time.Now().Add(within))
}

// unlimit says that no write waits for the client any more.
func (s *sockets) unlimit(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.limited = false
	_ = k.conn.SetWriteDeadline(time.Time{})
}

// interrupt has a socket end its answer, and no longer wait for what is on its way. Where no write waits there is no deadline
// to set: it would be that of the last words, which come when a processor is free.
func (s *sockets) interrupt(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.ending.Store(true)
	if k.limited {
		_ = k.conn.SetWriteDeadline(time.Now().Add(lastWords))
	}
	s.rouseLocked(k)
}

// shut has a socket say nothing more. It is retired soon.
func (s *sockets) shut(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.shut = true
}

// retire lets go of a socket that is closed for ever, once nobody holds it.
func (s *sockets) retire(k *socket) {
	s.mu.Lock()
	k.gone = true
	k.ready.remove()
	if k.timer >= 0 {
		heap.Remove(&s.alarms, k.timer)
	}
	if len(s.alarms) == 0 && s.timer != nil {
		s.timer.Stop()
		s.set = time.Time{}
	}
	held := k.busy
	s.mu.Unlock()
	if !held {
		s.e.unmoor(k)
	}
}

// alarmLocked has a socket served in time. An alarm that comes earlier stays: most streams say something more often than
// they are silent for long, and each time it would have to be found another place.
func (s *sockets) alarmLocked(k *socket) {
	due := k.said.Add(s.e.opts.Keepalive)
	if early := due.Sub(s.group); early >= 0 && early < s.grid() {
		due = s.group
	} else {
		s.group = due
	}
	if !k.next.IsZero() && k.next.Before(due) {
		due = k.next
	}
	switch {
	case k.timer < 0:
		k.due = due
		heap.Push(&s.alarms, k)
	case due.Before(k.due):
		k.due = due
		heap.Fix(&s.alarms, k.timer)
	}
	s.setLocked()
}

// setLocked sets the timer for the first alarm.
func (s *sockets) setLocked() {
	if len(s.alarms) == 0 {
		return
	}
	first := s.alarms[0].due
	if !s.set.IsZero() && !first.Before(s.set) {
		return
	}
	s.set = first
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(first), s.ring)
	} else {
		s.timer.Reset(time.Until(first))
	}
}

// ring has those served whose alarms are due.
func (s *sockets) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = time.Time{}
	for now := time.Now(); len(s.alarms) > 0 && !s.alarms[0].due.After(now); {
		s.rouseLocked(heap.Pop(&s.alarms).(*socket))
	}
	s.setLocked()
}
