package hub

import (
	"context"
	"testing"
	"time"
)

// fixed is a clock that stands, on which time passes so many times as fast.
type fixed struct {
	at    time.Time
	speed time.Duration
}

func (f fixed) Now() time.Time                                 { return f.at }
func (f fixed) Wall(d time.Duration) time.Duration             { return d / f.speed }
func (fixed) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// TestDates: what a fast simulation dates is dated by the clock of those who read it, and once.
func TestDates(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	simulated, read := began.Add(2*time.Hour), began.Add(2*time.Minute)
	h := &hub{clock: fixed{simulated, 60}, config: Config{Reader: fixed{read, 1}}, dates: map[string]dated{}}
	reboot := began.Add(time.Hour) // a minute after the beginning, by the other clock
	if got := h.date("a/stageStartTime", reboot); !got.Equal(began.Add(time.Minute)) {
		t.Errorf("dated %s", got)
	}
	h.config.Reader = fixed{read.Add(time.Second), 1} // some work later, that took the simulation no time
	if got := h.date("a/stageStartTime", reboot); !got.Equal(began.Add(time.Minute)) {
		t.Errorf("dated anew: %s", got)
	}
	if h.config.Reader = nil; !h.date("a/stageStartTime", reboot).Equal(reboot) {
		t.Error("the time of the simulation is changed where everybody has it")
	}
}
