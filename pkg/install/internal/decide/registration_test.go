package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestAdoptInEachState: a cluster that is named to be taken over is marked also where nothing else is to be done, or
// the user reads that it is not.
func TestAdoptInEachState(t *testing.T) {
	for state, always := range map[model.ClusterState]bool{
		model.ClusterReady: true, model.ClusterAddingHosts: true,
		model.ClusterPreparing: false, model.ClusterInstalling: false, model.ClusterNeedsUser: false, model.ClusterFinalizing: false,
		model.ClusterInstalled: false, model.ClusterFailed: false, model.ClusterCancelled: false,
	} {
		for _, anytime := range []bool{true, false} {
			w := decidetest.InstalledWithout(t, decidetest.Sample(3, 1), false)
			c := w.Observed.Cluster
			c.State, c.Owned, c.MarkedAnytime = state, false, anytime
			w.Desired.Options.Adopt = c.ID
			plan := w.Decide()
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
			w.Desired.Options.Adopt = ""
			if plan := w.Decide(); len(plan.Actions) > 0 || !decidetest.HasReason(plan, "ForeignCluster") {
				t.Errorf("%s: without --adopt: %+v", state, plan)
			}
		}
	}
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
		w := decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0)})
		w.Observed.Others = others
		if plan := w.Decide(); !strings.HasPrefix(plan.Next.String(), next) {
			t.Errorf("%q, want %q", plan.Next, next)
		}
	}
}

// TestForeignClusterThatAPlaneShows is not touched without --adopt.
func TestForeignClusterThatAPlaneShows(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Observed.Cluster.Owned = false
	if plan := w.Decide(); len(plan.Actions) > 0 || !decidetest.HasReason(plan, "ForeignCluster") {
		t.Errorf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
	w.Desired.Options.Adopt = "cluster-1"
	if plan := w.Decide(); !decidetest.HasKind(plan, model.UpdateCluster) || len(plan.Blockers) > 0 {
		t.Errorf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
}

// TestImport takes in a cluster that something else installed, adds its hosts, and
// then has nothing more to do. It asks for no credentials: the user who installed it has
// them.
func TestImport(t *testing.T) {
	for _, hub := range []bool{false, true} {
		w := decidetest.NewWorld(&model.Desired{Spec: installedElsewhere(), Options: model.Options{AddNodes: true}})
		w.Hub = hub
		w.Live(t, 12)
		plan := w.Decide()
		check.Do(t, decidetest.WellFormed(plan))
		if plan.Verdict != model.VerdictInstalled || len(plan.Actions) > 0 || !slices.Equal(plan.Added, []string{"worker-0", "worker-1"}) ||
			!strings.HasPrefix(plan.Next.String(), "kubectl get csr") || len(plan.Warnings) > 0 {
			t.Errorf("hub %v: %+v", hub, plan)
		}
		if got := decidetest.Keys(w.Writes); got[0] != "cluster/import" || w.Count(model.ImportCluster) != 1 ||
			w.Count(model.InstallHost) != 2 ||
			w.Count(model.SaveKubeconfig)+w.Count(model.RegisterCluster)+w.Count(model.UpdateCluster)+w.Count(model.StartInstall) > 0 {
			t.Errorf("hub %v: writes %v", hub, got)
		}
		i := slices.IndexFunc(w.Writes, func(a model.Action) bool { return a.Kind == model.RegisterInfraEnv })
		if i < 0 || w.Writes[i].Name != "lab" || w.Writes[i].Settings[model.SettingOSVersion].Text() != "4.21" ||
			w.Writes[i].Settings[model.SettingVersion] != "" {
			t.Errorf("hub %v: the image: %+v", hub, w.Writes)
		}
	}
}

// TestImportIsNoInstall: `create cluster` does not take for done what it did not do.
func TestImportIsNoInstall(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: installedElsewhere()})
	plan := w.Decide()
	if len(plan.Actions) > 0 || !decidetest.HasReason(plan, "InstalledElsewhere") || plan.Blockers[0].Cure != model.CureNow ||
		plan.Next != "{add-node -f FILE}" {
		t.Errorf("plan %+v", plan)
	}
}

// TestImportWaits for a service that takes its time with it, and says why it does
// not.
func TestImportWaits(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: installedElsewhere(), Options: model.Options{AddNodes: true}})
	w.Rest(t)
	w.Observed.Cluster.State, w.Observed.InfraEnvs = model.ClusterDraft, nil
	if plan := w.Decide(); len(plan.Actions) > 0 || len(plan.Waits) != 1 ||
		!strings.Contains(plan.Waits[0].For, "to import the installed cluster") {
		t.Errorf("plan %+v", plan)
	}
	w.Observed.Cluster.State = model.ClusterBlocked
	w.Observed.Cluster.Validations = []model.Validation{{ID: "spec-synced", Category: "kube-api", Status: "failure",
		Message: "no such Secret"}}
	if plan := w.Decide(); len(plan.Actions) > 0 || len(plan.Blockers) != 1 ||
		!strings.Contains(plan.Blockers[0].Message, "no such Secret") {
		t.Errorf("plan %+v", plan)
	}
}

// TestNodesOfAForeignCluster: only a person can decide to take it over; another name in the file would be another
// cluster.
func TestNodesOfAForeignCluster(t *testing.T) {
	w := decidetest.Grown(t, false, spec.Host{Name: "w-5"})
	w.Observed.Cluster.Owned = false
	plan := w.Decide()
	if !decidetest.HasReason(plan, "ForeignCluster") || plan.Blockers[0].Remedy != "{add-node -f FILE --adopt cluster-1}" {
		t.Errorf("plan %+v", plan)
	}
}
