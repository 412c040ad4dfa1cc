package rest

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// recordClock knows how far the dates of the service's records are ahead of the Date headers of
// its answers. The service writes both, unless a proxy writes the header by another clock.
//
// Only what is certain counts: no date of a record is later than the answer that it came in, and a
// date that replaced another one was written after the answer that had the other one. Of what is
// possible the least is taken, so that waits do not end early, but not far less than the most.
type recordClock struct {
	ahead time.Duration
	least time.Duration // the least that the records allow
}

// tolerable is a difference that is left alone: headers have whole seconds, and answers take time.
const tolerable = 30 * time.Second

// seen learns from the latest date of a record in an answer. Both moments are by the answers'
// clock: of the answer itself, and of the answer before, which had another date; zero: there was none.
func (c *recordClock) seen(date, answered, before time.Time) {
	if date.IsZero() {
		return
	}
	least := date.Sub(answered)
	c.least = max(c.least, least)
	if c.ahead < least-tolerable {
		c.ahead = least
	}
	if before.IsZero() {
		return
	}
	if most := date.Sub(before); c.ahead > most+tolerable {
		if c.least > most { // nothing was known, or a clock was set
			c.least = least
		}
		c.ahead = max(c.least, most-tolerable)
	}
}

// clusterChanged and hostChanged learn from a record and the one that it replaces, nil for none.
func (w *watch) clusterChanged(old, read *model.Cluster) {
	latest := func(c *model.Cluster) time.Time {
		return latestOf(c.Created, c.StatusSince, c.InstallStarted, c.InstallCompleted, c.Progress.FinalizingSince)
	}
	before := time.Time{}
	if old != nil && latest(read).After(latest(old)) {
		before = w.lastRead.cluster
	}
	w.records.seen(latest(read), w.now(), before)
}

func (w *watch) hostChanged(old, read *model.Host) {
	latest := func(h *model.Host) time.Time {
		return latestOf(h.Registered, h.CheckedIn, h.Since, h.Progress.Since, h.Progress.Updated)
	}
	before := time.Time{}
	if old != nil && latest(read).After(latest(old)) {
		before = w.lastRead.hosts
	}
	w.records.seen(latest(read), w.now(), before)
}

// eventsSeen learns from events, in their order; the last of them was not there before.
func (w *watch) eventsSeen(events []install.ServiceEvent, before time.Time) {
	if n := len(events); n > 0 {
		w.records.seen(events[n-1].Time, w.now(), before)
	}
}

func latestOf(dates ...time.Time) time.Time { return slices.MaxFunc(dates, time.Time.Compare) }
