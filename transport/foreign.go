package transport

import (
	"sync"

	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
)

// foreign is what the library behind an interceptor has been asked.
type foreign struct {
	mu      sync.Mutex
	session bool            // an initialize was answered, and not refused
	pending int             // those of which that is not known yet
	calls   map[string]bool // requests that are not answered, by id key; whether it is an initialize
}

// maxForeign is how many of the library's requests are known at a time. One that is beyond them passes all the same, but its
// id is not known to be taken.
const maxForeign = 65_536

// asked notes a request that passes.
func (l *foreign) asked(m *jsonrpc.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, handshake := m.ID.Key(), m.Method == "initialize"
	if l.calls == nil {
		l.calls = map[string]bool{}
	}
	before, again := l.calls[key]
	switch {
	case !again && len(l.calls) >= maxForeign:
		l.session = l.session || handshake // nobody will know its answer
	case handshake && !before:
		l.pending++
		l.calls[key] = true
	case !again:
		l.calls[key] = false
	}
}

// owes reports whether a request with an id has passed and has no answer.
func (l *foreign) owes(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, owed := l.calls[id.Key()]
	return owed
}

// answered notes that a request is answered. asked is not set if there was none. What became of a handshake negotiated is to
// be told.
func (l *foreign) answered(id jsonrpc.ID) (asked, handshake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	handshake, asked = l.calls[id.Key()]
	delete(l.calls, id.Key())
	return asked, handshake
}

// cancelled notes that a request need not be answered any more. "The initialize request MUST NOT be cancelled by clients"
// (2025-11-25, basic/utilities/cancellation).
func (l *foreign) cancelled(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.calls[id.Key()] {
		delete(l.calls, id.Key())
	}
}

// negotiated notes whether the library has opened the session it was asked for. One that is open stays so when another is
// refused.
func (l *foreign) negotiated(opened bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	l.session = l.session || opened
}

// isLegacy reports whether the client has opened a session, or is about to.
func (l *foreign) isLegacy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session || l.pending > 0
}
