package install

import (
	"fmt"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/names"
)

// quietAfter is how long a run says nothing before it says what it still waits for, and
// how long after that it says so again.
const quietAfter = 5 * time.Minute

// reasonQuiet is the reason of the event that says that nothing has happened.
const reasonQuiet = "NothingNew"

// silence is since when a run has told nothing.
type silence struct {
	heard time.Time // when something was last told, on our clock
	told  time.Time // when it was last told that nothing has been
}

// hears notes that something is told. How far the whole has come is drawn, and not
// told of each time.
func (s *silence) hears(e Event, now time.Time) {
	if e.Type != model.EventProgress && e.Reason != reasonQuiet {
		s.heard, s.told = now, now
	}
}

// due is how long nothing has been told, zero while that is nothing to tell.
func (s *silence) due(now time.Time) time.Duration {
	switch {
	case s.heard.IsZero():
		s.heard, s.told = now, now
	case now.Sub(s.told) >= quietAfter:
		s.told = now
		return now.Sub(s.heard)
	}
	return 0
}

// stillThere says, now and then, what a run waits for in which nothing happens.
func (r *run) stillThere(plan Plan) {
	r.remind(func() string {
		switch {
		case len(plan.Blockers) > 0:
			return "in the way: " + foremostOf(plan.Blockers)
		case len(plan.Waits) > 0:
			waits := make([]string, 0, len(plan.Waits))
			for _, w := range plan.Waits {
				waits = append(waits, w.For)
			}
			return "waiting for " + names.Few(waits)
		}
		return plan.Message
	})
}

// foremostOf is the first thing in the way, and how many there are beside it.
func foremostOf(blockers []Blocker) string {
	text := blockers[0].Message
	if more := len(blockers) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// stillSilent says, now and then, that a service goes on not answering.
func (r *run) stillSilent(err error) {
	r.remind(func() string { return "waiting for the service, which does not answer: " + err.Error() })
}

func (r *run) remind(what func() string) {
	r.telling.Lock()
	quiet := r.silence.due(r.clock.Now())
	r.telling.Unlock()
	if quiet == 0 {
		return
	}
	r.tell(Event{Type: model.EventHint, Key: "run/quiet", Reason: reasonQuiet, Message: fmt.Sprintf("nothing new for %s: %s", spanText(quiet), what())})
}

// spanText is a span of time in whole minutes.
func spanText(d time.Duration) string {
	minutes := int(d.Minutes())
	if minutes < 120 {
		return fmt.Sprintf("%dm", minutes)
	}
	return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
}
