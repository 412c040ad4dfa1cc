package decide_test

import (
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestLateWorkers count once they were added, and not before.
func TestLateWorkers(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 1))
	w.Observed.Cluster.State = model.ClusterAddingHosts
	w.Observed.Results = model.Results{NoIngress: true, Kubeconfig: true, Password: true}
	for i := range w.Observed.Hosts {
		h := &w.Observed.Hosts[i]
		h.State, h.Role = model.HostInstalled, spec.Role(h.Settings[model.SettingRole].Text())
	}
	late := &w.Observed.Hosts[3]
	late.Day2 = true
	for state, verdict := range map[model.HostState]model.Verdict{
		model.HostReady: model.VerdictDegraded, model.HostInstalling: model.VerdictDegraded, model.HostAdded: model.VerdictInstalled,
	} {
		late.State = state
		if plan := w.Decide(); plan.Verdict != verdict || (verdict == model.VerdictInstalled) != (len(plan.Missing) == 0) {
			t.Errorf("%s: verdict %s (%s), missing %v", state, plan.Verdict, plan.Message, plan.Missing)
		}
	}
}

// A hub without Hive's operator takes more hosts as soon as the cluster is installed, while
// its objects do not say so yet: that is an installed cluster all the same, which
// oaictl records.
func TestTakesMoreHostsBeforeItIsRecorded(t *testing.T) {
	w := decidetest.InstalledWithout(t, decidetest.Sample(3, 1), true)
	w.Observed.Cluster.State, w.Observed.Cluster.Unrecorded = model.ClusterAddingHosts, true
	plan := w.Decide()
	if len(plan.Actions) == 0 || plan.Actions[0].Kind != model.RecordInstalled || decidetest.HasKind(plan, model.StartInstall) ||
		decidetest.HasKind(plan, model.RegisterCluster) {
		t.Fatalf("actions %v", decidetest.Keys(plan.Actions))
	}
	w.Observed.Cluster.Unrecorded = false
	if plan := w.Decide(); plan.Verdict != model.VerdictInstalled || len(plan.Actions) > 0 {
		t.Errorf("%s: actions %v", plan.Verdict, decidetest.Keys(plan.Actions))
	}
}
