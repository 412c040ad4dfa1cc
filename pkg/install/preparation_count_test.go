package install_test

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
)

// TestPreparationsAreCountedByEvents, so that runs that are broken off have no
// more tries together than one that is not.
func TestPreparationsAreCountedByEvents(t *testing.T) {
	const began = 60 // the run, in minutes
	for name, test := range map[string]struct {
		failed []int // minutes
		starts bool
	}{
		"never":                                 {starts: true},
		"twice in this run":                     {failed: []int{61, 62}, starts: true},
		"three times in this run":               {failed: []int{61, 62, 63}},
		"twice before it and once in it":        {failed: []int{40, 50, 61}},
		"once before it and once in it":         {failed: []int{50, 61}, starts: true},
		"twice before it":                       {failed: []int{40, 50}, starts: true},
		"three times before it, which was told": {failed: []int{30, 40, 50}, starts: true},
		"told, and twice in this run":           {failed: []int{30, 40, 50, 61, 62}, starts: true},
		"told, and three times in this run":     {failed: []int{30, 40, 50, 61, 62, 63}},
		"long ago and twice in this run":        {failed: []int{-100, 61, 62}, starts: true},
		"told long ago, once before, twice now": {failed: []int{-100, -90, -80, 50, 61, 62}},
		"four times in this run":                {failed: []int{61, 62, 63, 64}},
	} {
		w := readyWorld(t, sample(3, 0))
		w.desired.Options.Started = start.Add(began * time.Minute)
		for _, minute := range test.failed {
			w.observed.Cluster.Preparation.FailedAt = append(w.observed.Cluster.Preparation.FailedAt, start.Add(time.Duration(minute)*time.Minute))
		}
		w.observed.At = start.Add((began + 5) * time.Minute)
		plan := w.decide()
		if hasKind(plan, install.StartInstall) != test.starts || hasReason(plan, "PreparationFailed") == test.starts {
			t.Errorf("%s: actions %v, blockers %+v", name, keys(plan.Actions), plan.Blockers)
		}
	}
}
