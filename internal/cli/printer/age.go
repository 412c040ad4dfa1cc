package printer

import (
	"fmt"
	"time"
)

// Age is a span of time in the coarsest unit that still says something: 42s,
// 7m, 3h20m, 2d4h.
func Age(d time.Duration) string {
	d = max(0, d)
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case hours < 2:
		return fmt.Sprintf("%dm", minutes)
	case hours < 48:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	default:
		return fmt.Sprintf("%dd%dh", hours/24, hours%24)
	}
}

// Moment is a point in time: how long ago on a terminal, RFC 3339 elsewhere,
// "" for none.
func Moment(at, now time.Time, terminal bool) string {
	switch {
	case at.IsZero():
		return ""
	case !terminal:
		return at.UTC().Format(time.RFC3339)
	case at.After(now):
		return "in " + Age(at.Sub(now))
	default:
		return Age(now.Sub(at)) + " ago"
	}
}
