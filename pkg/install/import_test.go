package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installedElsewhere is a file of a cluster that something else installed, to which
// two hosts are added.
func installedElsewhere() *spec.Cluster {
	c := sample(0, 2)
	c.Spec.Import = &spec.Import{ClusterID: "11111111-2222-3333-4444-555555555555"}
	c.Spec.Discovery.OSVersion = "4.21"
	return c
}

// TestImport takes in a cluster that something else installed, adds its hosts, and
// then has nothing more to do. It asks for no credentials: whoever installed it has
// them.
func TestImport(t *testing.T) {
	for _, hub := range []bool{false, true} {
		w := newWorld(&model.Desired{Spec: installedElsewhere(), Options: model.Options{AddNodes: true}})
		w.hub = hub
		for range 12 {
			if err := settle(w); err != nil {
				t.Fatal(err)
			}
			w.pass()
		}
		plan := w.decide()
		if err := wellFormed(plan); err != nil {
			t.Error(err)
		}
		if plan.Verdict != model.VerdictInstalled || len(plan.Actions) > 0 || !slices.Equal(plan.Added, []string{"worker-0", "worker-1"}) || !strings.HasPrefix(plan.Next.String(), "kubectl get csr") || len(plan.Warnings) > 0 {
			t.Errorf("hub %v: %+v", hub, plan)
		}
		if got := keys(w.writes); got[0] != "cluster/import" || count(w, model.ImportCluster) != 1 || count(w, model.InstallHost) != 2 ||
			count(w, model.SaveKubeconfig)+count(w, model.RegisterCluster)+count(w, model.UpdateCluster)+count(w, model.StartInstall) > 0 {
			t.Errorf("hub %v: writes %v", hub, got)
		}
		i := slices.IndexFunc(w.writes, func(a model.Action) bool { return a.Kind == model.RegisterInfraEnv })
		if i < 0 || w.writes[i].Name != "lab" || w.writes[i].Settings[model.SettingOSVersion].Text() != "4.21" || w.writes[i].Settings[model.SettingVersion] != "" {
			t.Errorf("hub %v: the image: %+v", hub, w.writes)
		}
	}
}

// TestThenOfAnImport promises no install: hosts are added.
func TestThenOfAnImport(t *testing.T) {
	w := newWorld(&model.Desired{Spec: installedElsewhere(), Options: model.Options{AddNodes: true}})
	plan, lines := follow(w)
	if text := strings.Join(lines, "\n"); strings.Contains(text, "start the installation") || strings.Contains(text, "save the kube") || !strings.Contains(text, "install each of worker-0, worker-1 once it is ready") || !strings.Contains(text, "register the InfraEnv lab") {
		t.Errorf("follows:\n%s", text)
	}
	if len(plan.Actions) != 1 || plan.Actions[0].Kind != model.ImportCluster || plan.Message != "about to import the installed cluster" {
		t.Errorf("actions %v: %s", keys(plan.Actions), plan.Message)
	}
	w.desired.Options.AddNodes = false
	if _, lines := follow(w); len(lines) > 0 {
		t.Errorf("nothing is done, and follows: %q", lines)
	}
}

// TestImportIsNoInstall: `create cluster` does not take for done what it did not do.
func TestImportIsNoInstall(t *testing.T) {
	w := newWorld(&model.Desired{Spec: installedElsewhere()})
	plan := w.decide()
	if len(plan.Actions) > 0 || !hasReason(plan, "InstalledElsewhere") || plan.Blockers[0].Cure != model.CureNow || plan.Next != "{add-node -f FILE}" {
		t.Errorf("plan %+v", plan)
	}
}

// TestImportWaits for a service that takes its time with it, and says why it does
// not.
func TestImportWaits(t *testing.T) {
	w := newWorld(&model.Desired{Spec: installedElsewhere(), Options: model.Options{AddNodes: true}})
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	w.observed.Cluster.State, w.observed.InfraEnvs = model.ClusterDraft, nil
	if plan := w.decide(); len(plan.Actions) > 0 || len(plan.Waits) != 1 || !strings.Contains(plan.Waits[0].For, "to take in the installed cluster") {
		t.Errorf("plan %+v", plan)
	}
	w.observed.Cluster.State = model.ClusterBlocked
	w.observed.Cluster.Validations = []model.Validation{{ID: "spec-synced", Category: "kube-api", Status: "failure", Message: "no such Secret"}}
	if plan := w.decide(); len(plan.Actions) > 0 || len(plan.Blockers) != 1 || !strings.Contains(plan.Blockers[0].Message, "no such Secret") {
		t.Errorf("plan %+v", plan)
	}
}

// TestLiveSystemOfLaterHosts: the version of the live system is for those that are
// added, not for those that the cluster is installed with.
func TestLiveSystemOfLaterHosts(t *testing.T) {
	c := sample(3, 2)
	c.Spec.Discovery.OSVersion = "4.21"
	w := installedWithout(t, c, false)
	for _, env := range w.observed.InfraEnvs {
		if env.Settings[model.SettingOSVersion] != "" || env.Settings[model.SettingVersion].Text() != "4.20" {
			t.Errorf("installed from %s", env.Settings)
		}
	}
	w.absent, w.desired.Options.AddNodes = "", true
	w.observed.Cluster.State = model.ClusterAddingHosts
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(w.writes, func(a model.Action) bool { return a.Kind == model.RegisterInfraEnv }); i < 0 || w.writes[i].Settings[model.SettingOSVersion].Text() != "4.21" {
		t.Errorf("writes %v", keys(w.writes))
	}
}

// TestSharedNodeLabels are not a host's own where it has labels of its own, and
// changing them makes no new image.
func TestSharedNodeLabels(t *testing.T) {
	c := sample(1, 0)
	c.Spec.Hub.NodeLabels, c.Spec.Hosts[0].Labels = map[string]string{"site": "north"}, map[string]string{"rack": "a"}
	w := readyWorld(t, c)
	if got := w.observed.Hosts[0].Settings[model.SettingLabels]; got != model.ValueOf(map[string]string{"rack": "a"}) {
		t.Errorf("labels %s", got)
	}
	c.Spec.Hub.NodeLabels = map[string]string{"site": "south"}
	if plan := w.decide(); len(plan.Blockers) > 0 || !slices.Equal(keys(plan.Actions), []string{"infraenv/lab/update"}) {
		t.Errorf("plan %+v", plan)
	}
	c.Spec.Hub.AgentLabels = map[string]string{"zone": "a"}
	if plan := w.decide(); !hasReason(plan, "NewImageNeeded") {
		t.Errorf("plan %+v", plan)
	}
}

// TestInheritedLabels that the file says of a host as well are there already;
// another value is a difference, before the install and after it.
func TestInheritedLabels(t *testing.T) {
	c := sample(1, 0)
	c.Spec.Hosts[0].Labels = map[string]string{"rack": "a"}
	w := readyWorld(t, c)
	w.observed.Hosts[0].Inherited = map[string]string{"site": "north"}
	for _, state := range []model.ClusterState{model.ClusterReady, model.ClusterInstalling} {
		w.observed.Cluster.State = state
		for site, differs := range map[string]bool{"north": false, "south": true} {
			c.Spec.Hosts[0].Labels = map[string]string{"rack": "a", "site": site}
			plan := w.decide()
			written := slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Kind == model.UpdateHost })
			told := slices.ContainsFunc(plan.Warnings, func(w model.Warning) bool { return strings.Contains(w.Key, "labels") })
			if (written || told) != differs {
				t.Errorf("%s, site %s: plan %+v", state, site, plan)
			}
		}
	}
}
