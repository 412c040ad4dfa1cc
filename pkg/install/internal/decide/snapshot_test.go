package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestThenOfAnImport promises no install: hosts are added.
func TestThenOfAnImport(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: installedElsewhere(), Options: model.Options{AddNodes: true}})
	plan, lines := follow(w)
	if text := strings.Join(lines, "\n"); strings.Contains(text, "start the installation") || strings.Contains(text, "save the kube") ||
		!strings.Contains(text, "install each of worker-0, worker-1 when it is ready") ||
		!strings.Contains(text, "register the InfraEnv lab") {
		t.Errorf("follows:\n%s", text)
	}
	if len(plan.Actions) != 1 || plan.Actions[0].Kind != model.ImportCluster || plan.Message != "about to import the installed cluster" {
		t.Errorf("actions %v: %s", decidetest.Keys(plan.Actions), plan.Message)
	}
	w.Desired.Options.AddNodes = false
	if _, lines := follow(w); len(lines) > 0 {
		t.Errorf("nothing is done, and follows: %q", lines)
	}
}

// TestThenBoots says before a first run what will be done to machines.
func TestThenBoots(t *testing.T) {
	r := decidetest.NewRack(&model.Desired{Spec: decidetest.Sample(1, 0)})
	plan, observed, err := r.Plan()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, step := range decide.NewSnapshot(r.Desired, observed).Then(plan) {
		found = found || step.Kind == model.InsertMedia && strings.Contains(step.Message, "boot cp-0 through its BMC")
	}
	if !found {
		t.Errorf("steps %+v", decide.NewSnapshot(r.Desired, observed).Then(plan))
	}
}

// TestReading names the hosts that a run must not be left for without care.
func TestReading(t *testing.T) {
	r := decidetest.ReadyRack(t, 3, 0)
	for _, name := range []string{"cp-0", "cp-1"} {
		r.Boxes[name].Power, r.Boxes[name].Media = model.PowerIsOn, decidetest.ImageOf(name)
	}
	_, observed, err := r.Plan()
	if got := strings.Join(decide.NewSnapshot(r.Desired, observed).Reading(), " "); err != nil || got != "cp-0 cp-1" {
		t.Errorf("%q, %v", got, err)
	}
	observed.Cluster = nil
	if got := decide.NewSnapshot(r.Desired, observed).Reading(); len(got) > 0 {
		t.Errorf("without a cluster: %q", got)
	}
}

// TestHasToBoot: hosts that are added boot once the cluster accepts them and they are asked for.
func TestHasToBoot(t *testing.T) {
	for name, test := range map[string]struct {
		state model.ClusterState
		adds  bool
		boots bool
	}{
		"accepted and asked for": {model.ClusterAddingHosts, true, true},
		"not asked for":          {model.ClusterAddingHosts, false, false},
		"not accepted yet":       {model.ClusterInstalled, true, false},
	} {
		w := decidetest.InstalledWithout(t, decidetest.Sample(3, 2), false)
		w.Desired.Options.AddNodes, w.Observed.Cluster.State = test.adds, test.state
		if got := decide.NewSnapshot(w.Desired, &w.Observed).HasToBoot("worker-1"); got != test.boots {
			t.Errorf("%s: boots %v", name, got)
		}
	}
}

func TestThenOfNothing(t *testing.T) {
	c := decidetest.Sample(3, 0)
	c.Spec.IgnoreValidations.Hosts = []string{"ntp-synced"}
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	_, got := follow(w)
	want := []string{
		"IgnoreValidations set the ignored validations", "RegisterInfraEnv register the InfraEnv lab",
		"wait for cp-0, cp-1, cp-2 to boot the discovery image and register", "UpdateHost configure cp-0, cp-1, cp-2 as described in the file",
		"StartInstall start the installation when every host is ready; the disks that it overwrites are known after they have registered",
		"wait for the installation to end", "SaveKubeconfig save the kubeconfig and the kubeadmin password",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.Observed.Cluster != nil || len(w.Writes) > 0 {
		t.Error("looking ahead changed the world")
	}
	c.Spec.InfraEnv.Bind = spec.BindLate
	if _, got = follow(w); !slices.Contains(got, "BindHost bind cp-0, cp-1, cp-2 to the cluster") {
		t.Errorf("bound late: %q", got)
	}
}

// TestThenShrinks as an install goes on, until nothing follows. What the plan does is not listed a second time.
func TestThenShrinks(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 1)})
	most := 100
	for range 40 {
		plan, lines := follow(w)
		if len(lines) > most {
			t.Errorf("more follows than before: %q", lines)
		}
		most = len(lines)
		for _, a := range plan.Actions {
			for _, line := range lines {
				if strings.HasPrefix(line, string(a.Kind)+" ") {
					t.Errorf("%s stands in the plan and after it", a.Kind)
				}
			}
			w.Do(t, a)
		}
		if plan.Verdict == model.VerdictInstalled {
			if most > 0 {
				t.Errorf("after the end: %q", lines)
			}
			return
		}
		w.Pass()
	}
	t.Error("it was never installed")
}

// TestThenOfHostsToReboot: a change of cluster and image at once is shown as
// such, and so is which host has to boot again.
func TestThenOfHostsToReboot(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Desired.Spec.Spec.Proxy.HTTP = "http://proxy.example.com:3128"
	plan := w.Decide()
	if !decidetest.HasKind(plan, model.UpdateCluster) || !decidetest.HasReason(plan, "NewImageNeeded") {
		t.Errorf("without --reimage: %v, %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
	w.Desired.Options.Reimage = true
	plan, lines := follow(w)
	if !decidetest.HasKind(plan, model.UpdateCluster) || !decidetest.HasKind(plan, model.UpdateInfraEnv) {
		t.Errorf("the plan does %v", decidetest.Keys(plan.Actions))
	}
	if lines[0] != "wait for cp-0, cp-1, cp-2 to be rebooted into the new image" ||
		slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, "and register") }) {
		t.Errorf("then: %q", lines)
	}
	w.Observed.Hosts, w.Observed.Cluster.State = nil, model.ClusterDiscovering
	if plan, lines = follow(w); !decidetest.HasKind(plan, model.UpdateInfraEnv) ||
		slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, "the new image") }) {
		t.Errorf("without hosts: %v, then %q", decidetest.Keys(plan.Actions), lines)
	}
}

func TestNothingFollows(t *testing.T) {
	for name, change := range map[string]func(*decidetest.World){
		"somebody else's cluster": func(w *decidetest.World) { w.Observed.Cluster.Owned = false },
		"failed":                  func(w *decidetest.World) { w.Observed.Cluster.State = model.ClusterFailed },
		"unknown":                 func(w *decidetest.World) { w.Observed.Cluster.State = model.ClusterUnknown },
	} {
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		change(w)
		if plan, lines := follow(w); lines != nil {
			t.Errorf("%s (%s): %q", name, plan.Verdict, lines)
		}
	}
}

func TestMatchNamesHosts(t *testing.T) {
	machine := func(id, hostname, mac string) model.Host {
		return model.Host{ID: id, Hostname: hostname, ClusterID: "c1", State: model.HostReady,
			Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{MAC: mac}}}}
	}
	cluster := &spec.Cluster{Spec: spec.ClusterSpec{Hosts: []spec.Host{
		{Name: "cp-0", Role: spec.ControlPlane, Match: spec.Match{MAC: "52:54:00:00:00:01"}},
		{Name: "cp-1", Role: spec.ControlPlane, Match: spec.Match{MAC: "52:54:00:00:00:02"}},
		{Name: "w-0", Match: spec.Match{MAC: "52-54-00-00-00-03"}},
	}}}
	observed := &model.Observed{
		Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "c1"}},
		Hosts: []model.Host{
			machine("stranger", "cp-0", "52:54:00:00:00:99"), // only called so
			machine("third", "localhost", "52:54:00:00:00:03"),
			machine("first", "localhost", "52:54:00:00:00:01"),
			machine("double", "localhost", "52:54:00:00:00:01"),
		},
	}
	type line struct {
		Name, ID string
		Role     spec.Role
	}
	var got []line
	for _, h := range decide.NewSnapshot(&model.Desired{Spec: cluster}, observed).Hosts() {
		l := line{Name: h.Name, Role: h.Role}
		if h.Host != nil {
			l.ID = h.Host.ID
		}
		got = append(got, l)
	}
	want := []line{
		{"cp-0", "first", spec.ControlPlane}, {"cp-1", "", spec.ControlPlane}, {"w-0", "third", ""},
		{"", "stranger", ""}, {"", "double", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
