package verify

import (
	"errors"
	"net/http"
	"regexp"
	"sync"

	"github.com/mcp-fsserve/mcp-fsserve/internal/wire"
)

// several is how many listens a server must put up with: "A client MAY have multiple active subscriptions concurrently"
// (basic/patterns/subscriptions, "Multiple Concurrent Subscriptions"). How many more the specification does not say.
const several = 2

// limitWords are those that errors about a limit have in them. There is no code for that.
var limitWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(limit|limited|too many|maximum|at most|no more than|quota|capacity|exhausted|busy)\b`)
})

// overLimit reports whether a listen was refused beside several others, with an error that says that they are too many.
func (v *view) overLimit(l *listening) bool {
	if len(l.acks) > 0 {
		return false
	}
	at, says := l.end, false
	if len(l.answers) > 0 {
		at = l.answers[0]
		refusal := v.rec.Entries[at].Message.Error
		says = refusal != nil && limitWords().MatchString(refusal.Message)
	} else if at >= 0 {
		refusal := (*wire.StatusError)(nil)
		says = errors.As(v.rec.Entries[at].Err, &refusal) &&
			(refusal.Status == http.StatusTooManyRequests || refusal.Status == http.StatusServiceUnavailable)
	}
	return says && v.beside(l, at) >= several
}

// beside is how many other listens were asked for until an entry and, as far as is known, open since l was.
func (v *view) beside(l *listening, at int) (n int) {
	for _, o := range v.listens {
		if o != l && len(o.acks) > 0 && o.sent < at && !v.isOver(o, l.sent) {
			n++
		}
	}
	return n
}

// untried is the verdict on a rule for which a listen was refused for a limit.
func (v *view) untried(l *listening) verdict {
	return untestable("the server may have a limit of fewer listens than were asked for: %v %s", l, v.unacknowledged(l))
}
