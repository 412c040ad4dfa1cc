package service

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestClockLimits shows the service hosts whose clocks differ from its own.
func TestClockLimits(t *testing.T) {
	for _, tc := range []struct {
		ahead time.Duration
		want  string
	}{
		{0, "success"},
		{10 * time.Minute, "success"},
		{59 * time.Minute, "success"},
		{61 * time.Minute, "failure"},
		{-19 * time.Minute, "success"},
		{-21 * time.Minute, "failure"},
	} {
		t.Run(fmt.Sprint(tc.ahead), func(t *testing.T) {
			b := compact(t, 1)
			b.pass(time.Minute)
			m := b.machines[0]
			b.must("GET", fmt.Sprintf("%s/instructions?timestamp=%d", m.path(), b.clock.at.Add(tc.ahead).Unix()), nil)
			b.s.tick()
			if got := outcomes(t, m.get())["time-synced-between-host-and-service"]; got[0] != tc.want {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestClockOfAnInventoryTellsNothing since the time counts that a host asks for its steps with.
func TestClockOfAnInventoryTellsNothing(t *testing.T) {
	b := compact(t, 1)
	m := b.machines[0]
	m.unclean = func(inventory map[string]any) { inventory["timestamp"] = b.clock.at.Add(-time.Hour).Unix() }
	b.pass(time.Minute)
	if got := outcomes(t, m.get())["time-synced-between-host-and-service"]; got[0] != model.Passed {
		t.Errorf("%q", got)
	}
}

// TestPollsInRealTime: a fast service gives real agents a pause in real time, in which they live. Simulated hosts live by
// its clock.
func TestPollsInRealTime(t *testing.T) {
	for _, tc := range []struct {
		speed           time.Duration
		real, simulated int
	}{{1, 60, 0}, {10, 6, 60}, {60, 1, 60}, {240, 1, 60}} {
		b := compact(t, 1)
		b.clock.speed = tc.speed
		text := b.must("GET", b.machines[0].path()+"/instructions", nil).text
		var got instructions
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.NextSeconds != tc.real || got.SimulatedSeconds != tc.simulated {
			t.Errorf("at speed %d: %s", tc.speed, text)
		}
	}
}
