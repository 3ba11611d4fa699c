package client

import (
	"context"
	"time"
)

// before is how long to wait before the nth attempt in a row, n being 1 or more. random returns a number in [0, n).
//
// Full jitter spreads the clients of a server that has come back over the whole time; the least, a tenth of Base, keeps a
// command that crashes at once from being started twice in the same moment.
func (b Backoff) before(n int, random func(n int64) int64) time.Duration {
	most := b.Base
	for i := 1; i < n && most < b.Max; i++ {
		most += min(most, b.Max-most)
	}
	most = max(min(most, b.Max), 1)
	return max(time.Duration(random(int64(most))), min(b.Base/10, most))
}

// rest waits, and reports whether ctx lasted as long.
func rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
