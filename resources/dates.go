package resources

import "time"

// dates writes times down as RFC 3339 has them, in UTC, to the second. Files that lie together are often of one second, or of
// one day. The zero value is ready to use.
type dates struct {
	buf    [len("2006-01-02T15:04:05Z")]byte
	day    int64  // since 1970, of what is in buf
	second int64  // since 1970, of last
	last   string // "" if there is none yet, and nothing in buf
}

// RFC 3339 has years of four digits. In seconds.
const (
	yearZero  = -62167219200
	year10000 = 253402300800
)

const secondsPerDay = 24 * 60 * 60

// text returns the date of a second since 1970, as a string of an arena, "" if it cannot be written.
func (d *dates) text(second int64, in *arena) string {
	if second < yearZero || second >= year10000 {
		return ""
	}
	if second == d.second && d.last != "" {
		return d.last
	}
	clock := second % secondsPerDay
	if clock < 0 {
		clock += secondsPerDay
	}
	if day := (second - clock) / secondsPerDay; day != d.day || d.last == "" {
		time.Unix(second, 0).UTC().AppendFormat(d.buf[:0], time.RFC3339)
		d.day = day
	} else {
		const at = len("2006-01-02T")
		twoDigits(d.buf[at:], clock/3600)
		twoDigits(d.buf[at+len("15:"):], clock/60%60)
		twoDigits(d.buf[at+len("15:04:"):], clock%60)
	}
	d.second, d.last = second, in.keep(d.buf[:])
	return d.last
}

func twoDigits(dst []byte, n int64) { dst[0], dst[1] = byte('0'+n/10), byte('0'+n%10) }
