package install

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestAnotherCauseIsTold has a blocker with other words, and then with another remedy: only the latter is worth a line.
// Its key stays the same: it shows how long the run has waited for a person.
func TestAnotherCauseIsTold(t *testing.T) {
	var told []string
	w := newWatcher(func(e model.Event) { told = append(told, e.Message) })
	for _, x := range []model.Blocker{
		{Key: "cp-0", Reason: decide.ReasonBMC, Message: "connection refused", Remedy: "check the address"},
		{Key: "cp-0", Reason: decide.ReasonBMC, Message: "no route", Remedy: "check the address"},
		{Key: "cp-0", Reason: decide.ReasonBMC, Message: "it refuses the password", Remedy: "correct the password"},
	} {
		w.blockers(model.Plan{Blockers: []model.Blocker{x}}, time.Time{})
	}
	w.blockers(model.Plan{}, time.Time{})
	w.blockers(model.Plan{}, time.Time{}.Add(withdrawn))
	want := []string{"connection refused", "it refuses the password", "no longer in the way: it refuses the password"}
	check.Slice(t, told, want)
}

// TestWaveringCause has a blocker come and go: it is reported once, and withdrawn once it stays away.
func TestWaveringCause(t *testing.T) {
	var told []string
	w := newWatcher(func(e model.Event) { told = append(told, e.Message) })
	at := time.Time{}
	for _, there := range []bool{true, false, true, false, false, false, true} {
		plan := model.Plan{}
		if there {
			plan.Blockers = []model.Blocker{{Key: "cp-0", Reason: decide.ReasonBMC, Message: "connection refused"}}
		}
		w.blockers(plan, at)
		at = at.Add(withdrawn / 2)
	}
	want := []string{"connection refused", "no longer in the way: connection refused", "connection refused"}
	check.Slice(t, told, want)
}

// TestTimeLeftOfFinalizing uses the percentage where a stage of it has just begun.
func TestTimeLeftOfFinalizing(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		percent int
		since   time.Duration // in this state
		want    time.Duration
	}{{80, 0, 20 * time.Minute}, {80, 5 * time.Minute, 15 * time.Minute}, {92, 5 * time.Minute, 4 * time.Minute},
		{95, 12 * time.Minute, time.Minute}, {100, 40 * time.Minute, time.Minute}} {
		o := &model.Observed{At: now, Cluster: &model.Cluster{State: model.ClusterFinalizing, StatusSince: now.Add(-test.since)}}
		o.Cluster.Progress = model.ClusterProgress{Percent: test.percent, FinalizingSince: now}
		if percent, left := progress(o); percent != test.percent || left != test.want {
			t.Errorf("%d %% after %s: %s left, want %s", test.percent, test.since, left, test.want)
		}
	}
}
