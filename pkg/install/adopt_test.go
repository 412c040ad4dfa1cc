package install_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestAdoptWhateverTheState: a cluster that is named to be taken over is marked also
// where nothing else is to be done, or the user is told that it is not.
func TestAdoptWhateverTheState(t *testing.T) {
	for state, always := range map[model.ClusterState]bool{
		model.ClusterReady: true, model.ClusterAddingHosts: true,
		model.ClusterPreparing: false, model.ClusterInstalling: false, model.ClusterNeedsUser: false, model.ClusterFinalizing: false,
		model.ClusterInstalled: false, model.ClusterFailed: false, model.ClusterCancelled: false,
	} {
		for _, anytime := range []bool{true, false} {
			w := installedWithout(t, sample(3, 1), false)
			c := w.observed.Cluster
			c.State, c.Owned, c.MarkedAnytime = state, false, anytime
			w.desired.Options.Adopt = c.ID
			plan := w.decide()
			var marks []string
			for _, a := range plan.Actions {
				if _, does := a.Settings[model.SettingTags]; does {
					marks = append(marks, string(a.Kind))
				}
			}
			warned := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
				return x.Reason == "NotAdopted" && strings.Contains(x.Message, strings.ToLower(string(state)))
			})
			if can := always || anytime; can != slices.Equal(marks, []string{"UpdateCluster"}) || can == warned {
				t.Errorf("%s, marked at any time %v: marks %v, warned %v", state, anytime, marks, warned)
			}
			w.desired.Options.Adopt = ""
			if plan := w.decide(); len(plan.Actions) > 0 || !hasReason(plan, "ForeignCluster") {
				t.Errorf("%s: without --adopt: %+v", state, plan)
			}
		}
	}
}

// TestAdoptInstalled ends well, and has written the mark and nothing else.
func TestAdoptInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := installedWithout(t, sample(3, 1), false)
		w.observed.Cluster.Owned, w.observed.Cluster.MarkedAnytime = false, true
		w.desired.Options.Adopt = w.observed.Cluster.ID
		p := &plane{world: w}
		result, err := install.New(p).Run(t.Context(), w.desired)
		if err != nil || result.Verdict != model.VerdictInstalled || strings.Join(keys(w.writes), " ") != "cluster/adopt" || !w.observed.Cluster.Owned {
			t.Errorf("%v: %s, writes %v", err, result.Verdict, keys(w.writes))
		}
	})
}

// TestForeignClusterIsNamed by what is to be typed, as far as it is known.
func TestForeignClusterIsNamed(t *testing.T) {
	other := func(id string) model.ClusterRef {
		return model.ClusterRef{ID: id, Name: "lab", BaseDomain: "example.com"}
	}
	for next, others := range map[string][]model.ClusterRef{
		"oaictl create cluster -f FILE --adopt one, or": {other("one")},
		"oaictl create cluster -f FILE --adopt ID, or":  {other("one"), other("two")},
	} {
		w := newWorld(&model.Desired{Spec: sample(3, 0)})
		w.observed.Others = others
		if plan := w.decide(); !strings.HasPrefix(plan.Next.String(), next) {
			t.Errorf("%q, want %q", plan.Next, next)
		}
	}
}
