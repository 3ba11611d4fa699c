package client

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// maxTTL bounds what a server may have its client believe for how long.
const maxTTL = 24 * time.Hour

// lifetime is a ttlMs, how long an answer is fresh: "if ttlMs is negative, clients SHOULD ignore it and treat it as 0". So
// is what is no number: the answer around it is one all the same.
type lifetime time.Duration

// UnmarshalJSON takes any value, and never fails.
func (l *lifetime) UnmarshalJSON(raw []byte) error {
	ms, err := strconv.ParseFloat(string(raw), 64) // above the largest it is infinite, and an error
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(ms > 0) {
		*l = 0
		return nil
	}
	*l = lifetime(math.Min(ms, float64(maxTTL/time.Millisecond)) * float64(time.Millisecond))
	return nil
}
