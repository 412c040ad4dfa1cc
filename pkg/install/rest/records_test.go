package rest

import (
	"testing"
	"time"
)

// TestRecordClock finds out how far records are dated ahead of answers, as far as the answers show it.
func TestRecordClock(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	type answer struct{ date, at, before time.Duration } // of the record, and of this answer and the one before
	const none = time.Duration(-1 << 63)
	moment := func(since time.Duration) time.Time {
		if since == none {
			return time.Time{}
		}
		return start.Add(since)
	}
	for name, test := range map[string]struct {
		answers []answer
		want    time.Duration
	}{
		"nothing is known of a record that has long been there": {[]answer{{-2 * time.Hour, 0, none}}, 0},
		"the same clock":                 {[]answer{{-time.Minute, 0, none}, {9 * time.Second, 10 * time.Second, 0}}, 0},
		"a little behind is tolerated":   {[]answer{{-15 * time.Second, 10 * time.Second, 0}}, 0},
		"ahead, in the first answer":     {[]answer{{time.Hour, time.Second, none}}, time.Hour - time.Second},
		"ahead, further as records tell": {[]answer{{time.Minute, 0, none}, {time.Hour, 10 * time.Second, 0}}, time.Hour - 10*time.Second},
		"behind, once a record is new":   {[]answer{{-time.Hour, 0, none}, {10*time.Second - time.Hour, 10 * time.Second, 0}}, -time.Hour},
		"behind, long between two looks": {[]answer{{-5 * time.Hour, 0, none}, {10*time.Second - time.Hour, 2 * time.Minute, 0}}, 10*time.Second - time.Hour - tolerable},
		"set back":                       {[]answer{{0, 0, none}, {10*time.Second - time.Hour, 10 * time.Second, 0}}, -time.Hour},
		"behind, and then no longer":     {[]answer{{10*time.Second - time.Hour, 10 * time.Second, 0}, {20 * time.Second, 20 * time.Second, 10 * time.Second}}, 0},
		"a record without a date":        {[]answer{{none, 0, none}}, 0},
	} {
		var c recordClock
		for _, a := range test.answers {
			c.seen(moment(a.date), moment(a.at), moment(a.before))
		}
		if c.ahead != test.want {
			t.Errorf("%s: %s ahead, want %s", name, c.ahead, test.want)
		}
	}
}
