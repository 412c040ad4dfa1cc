package liveimage

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

func TestMeter(t *testing.T) {
	for _, test := range []struct {
		name     string
		terminal bool
		globals  app.Globals
		want     string
	}{
		{"plain", false, app.Globals{Progress: app.ProgressAuto}, "writing x: 25% of 4 kB\nwriting x: 75% of 4 kB\n"},
		{"terminal", true, app.Globals{Progress: app.ProgressAuto}, "\r\x1b[Kwriting x: [██████░░░░░░░░░░░░░░░░░░] 25% of 4 kB" +
			"\r\x1b[Kwriting x: [████████████░░░░░░░░░░░░] 50% of 4 kB\r\x1b[Kwriting x: [██████████████████░░░░░░] 75% of 4 kB\r\x1b[K"},
		{"quiet", true, app.Globals{Progress: app.ProgressAuto, Quiet: true}, ""},
		{"json", false, app.Globals{Progress: app.ProgressJSON}, `"percent":75`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var problems strings.Builder
			synctest.Test(t, func(t *testing.T) {
				a := &app.App{IO: streams.Streams{Err: &problems, ErrTTY: test.terminal}, Env: streams.Env{}, Clock: clock.Real(), Globals: test.globals}
				m := NewMeter(a, "writing x")
				m.Show(0, 4000) // within the first second nothing is printed
				time.Sleep(time.Second)
				m.Show(1000, 4000)
				time.Sleep(time.Second)
				m.Show(2000, 4000)
				m.Show(2001, 4000)
				time.Sleep(5 * time.Second)
				m.Show(3000, 4000)
				m.End()
			})
			if got := problems.String(); got != test.want && (test.name != "json" || !strings.Contains(got, test.want)) {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
}

func TestMeterText(t *testing.T) {
	for _, test := range []struct {
		done, total int64
		want        string
	}{{0, -1, "x: 0 B"}, {5000, 0, "x: 5 kB"}, {5000, 1000, "x: 100% of 1 kB"}, {-1, 1000, "x: 0% of 1 kB"}} {
		if got := meterText("x", test.done, test.total, false); got != test.want {
			t.Errorf("%d of %d: %q, not %q", test.done, test.total, got, test.want)
		}
	}
}
