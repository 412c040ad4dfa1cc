package decide_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestWithoutAddNodes: nothing is written to an installed cluster, even if hosts are
// missing or have registered.
func TestWithoutAddNodes(t *testing.T) {
	w := addingWorld(t)
	w.Desired.Options.AddNodes = false
	plan := w.Decide()
	if len(plan.Actions) > 0 || plan.Verdict != model.VerdictInstalled || !strings.Contains(plan.Message, "worker-1") ||
		plan.Next != "{add-node -f FILE}" {
		t.Errorf("plan %+v", plan)
	}
}

// TestAddNodesStates holds every state of a host that is to be added to what
// is done or said about it.
func TestAddNodesStates(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*decidetest.World, *model.Host)
		verdict model.Verdict
		action  string // key of the only action
		wait    string // part of a wait
		reason  string // of a blocker
		message string // part of the plan's message
	}{
		"ready": {func(*decidetest.World, *model.Host) {}, model.VerdictWorking, "host/worker-1/install", "", "", ""},
		"renamed": {func(_ *decidetest.World, h *model.Host) {
			h.Settings[model.SettingHostname] = model.ValueOf("x")
		}, model.VerdictWorking, "host/worker-1/update", "", "", ""},
		"discovered": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostDiscovering
		}, model.VerdictWaiting, "", "worker-1 to be checked", "", ""},
		"unread": {func(_ *decidetest.World, h *model.Host) {
			h.Inventory = model.Inventory{}
		}, model.VerdictWaiting, "", "the inventory of a new host", "", ""},
		"no such disk": {func(w *decidetest.World, _ *model.Host) {
			w.Desired.Spec.Spec.Hosts[4].Disk.Hints.DeviceName = "/dev/none"
		}, model.VerdictBlocked,
			"", "", "DiskHints", ""},
		"blocked": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostBlocked
			h.Validations = []model.Validation{{ID: "has-min-memory", Category: "hardware", Status: "failure",
				Message: "too little memory"}}
		}, model.VerdictBlocked, "", "", "ValidationFails", "too little memory"},
		"small disk": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostBlocked
			h.Validations = []model.Validation{{ID: "has-min-valid-disks", Category: "hardware", Status: "failure",
				Message: "No eligible disks were found"}}
			h.Inventory.Disks = []model.Disk{{Path: "/dev/sda", SizeBytes: 20e9,
				Reasons: []string{"Disk is too small (disk only has 20 GB, but 100 GB are required)"}}}
		}, model.VerdictBlocked, "", "", "ValidationFails",
			"No eligible disks were found; /dev/sda: Disk is too small (disk only has 20 GB, but 100 GB are required)"},
		"silent": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostDisconnected
		}, model.VerdictBlocked, "", "", "HostDisconnected", ""},
		"installing": {func(_ *decidetest.World, h *model.Host) {
			h.State, h.Progress.Stage = model.HostInstalling, "Writing image to disk"
		}, model.VerdictWaiting, "", "worker-1: Writing image to disk", "", ""},
		"installing, while checks fail": {func(w *decidetest.World, h *model.Host) {
			h.State, h.Progress.Stage = model.HostInstalling, "Writing image to disk"
			h.Validations = []model.Validation{{ID: "has-min-memory", Category: "hardware", Status: "failure", Message: "too little memory"}}
			w.Host("host-cp-0").Validations = h.Validations
		}, model.VerdictWaiting, "", "worker-1: Writing image to disk", "", ""},
		"stuck": {func(w *decidetest.World, h *model.Host) {
			h.State, h.Progress = model.HostInstalling,
				model.HostProgress{Stage: "Writing image to disk", Updated: w.Observed.At.Add(-3 * time.Hour)}
		}, model.VerdictBlocked, "", "", "StageTimedOut", ""},
		"wrong boot": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostNeedsUser
		}, model.VerdictBlocked, "", "", "BootedDiscoveryImage", ""},
		"reset": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostResetting
		}, model.VerdictBlocked, "", "", "BootDiscoveryImage", ""},
		"cancelled": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostCancelled
		}, model.VerdictBlocked, "", "", "LeftFromEarlierInstall", ""},
		"failed": {func(_ *decidetest.World, h *model.Host) {
			h.State, h.StatusInfo = model.HostFailed, "its disk broke"
		}, model.VerdictFailed,
			"", "", "", "not added: worker-1: its disk broke"},
		"added": {func(_ *decidetest.World, h *model.Host) {
			h.State = model.HostAdded
		}, model.VerdictInstalled, "", "", "", "cannot see whether these nodes have joined"},
		"strange": {func(_ *decidetest.World, h *model.Host) {
			h.State, h.Status = model.HostUnknown, "levitating"
		}, model.VerdictWaiting, "", `"levitating"`, "", ""},
		"lost in the install": {func(w *decidetest.World, h *model.Host) {
			w.Host("host-worker-0").State, h.State = model.HostFailed, model.HostAdded
			w.Observed.InfraEnvs = append(w.Observed.InfraEnvs, laterEnv(w))
		}, model.VerdictWaiting, "", "worker-0 to boot the discovery image lab-2 and register again: it was lost", "", ""},
		"two machines": {func(w *decidetest.World, h *model.Host) {
			twin := *h
			twin.ID = "twin"
			w.Observed.Hosts = append(w.Observed.Hosts, twin)
		}, model.VerdictBlocked, "", "", "AmbiguousHost", ""},
		"image runs out": {func(w *decidetest.World, _ *model.Host) {
			w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-1" })
			w.Observed.InfraEnvs[0].Image.Expires = w.Observed.At
		}, model.VerdictWorking, "infraenv/lab/renew", "worker-1 to boot the discovery image lab", "", ""},
		"made for it": {func(w *decidetest.World, _ *model.Host) {
			w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-1" })
			w.Observed.InfraEnvs = append(w.Observed.InfraEnvs, laterEnv(w))
		}, model.VerdictWaiting, "", "worker-1 to boot the discovery image lab-2", "", ""},
		"degraded": {func(w *decidetest.World, h *model.Host) {
			h.State, w.Observed.Cluster.StatusInfo = model.HostAdded, "Cluster is installed but degraded. Failed OLM operators: lso"
		}, model.VerdictInstalled, "", "", "", "added: worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := addingWorld(t)
			test.change(w, w.Host("host-worker-1"))
			plan := w.Decide()
			must.Do(t, decidetest.WellFormed(plan))
			if plan.Verdict != test.verdict || strings.Join(decidetest.Keys(plan.Actions), " ") != test.action {
				t.Errorf("%s, actions %v; want %s, %q: %+v", plan.Verdict, decidetest.Keys(plan.Actions), test.verdict, test.action, plan)
			}
			if test.wait != "" && !slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.Contains(x.For, test.wait) }) {
				t.Errorf("waits %+v; want %q", plan.Waits, test.wait)
			}
			if test.reason != "" && !decidetest.HasReason(plan, test.reason) {
				t.Errorf("blockers %+v; want %s", plan.Blockers, test.reason)
			}
			check.Contains(t, plan.Message, test.message, "message")
		})
	}
}

// TestPoolWhoseImageChanges for a new host: the hosts of the cluster booted it
// once, and run from their disks since.
func TestPoolWhoseImageChanges(t *testing.T) {
	c := decidetest.Sample(3, 2)
	c.Spec.InfraEnv.Bind = spec.BindLate
	w := decidetest.InstalledWithout(t, c, false)
	w.Desired.Options.AddNodes, w.Observed.Cluster.State = true, model.ClusterAddingHosts
	c.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
	if plan := w.Decide(); strings.Join(decidetest.Keys(plan.Actions), " ") != "infraenv/lab/update" || len(plan.Blockers) > 0 {
		t.Errorf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
	waits := decidetest.Machine("worker-1", c.Spec.Hosts[4].Match.MAC, 4)
	waits.Day2, waits.State, waits.InfraEnvID = true, model.HostReady, w.Observed.InfraEnvs[0].ID
	w.Observed.Hosts = append(w.Observed.Hosts, waits)
	c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "more", Match: spec.Match{MAC: "52:54:00:00:02:00"}})
	if plan := w.Decide(); !decidetest.HasReason(plan, "NewImageNeeded") {
		t.Errorf("worker-1 runs the old image: actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
}

// TestAddNodesToWhatIsNotInstalled installs nothing.
func TestAddNodesToWhatIsNotInstalled(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0), Options: model.Options{AddNodes: true}})
	if plan := w.Decide(); len(plan.Actions) > 0 || plan.Blockers[0].Cure != model.CureOwner {
		t.Errorf("no cluster: %+v", plan)
	}
	w = decidetest.ReadyWorld(t, decidetest.Sample(1, 0))
	w.Desired.Options.AddNodes = true
	if plan := w.Decide(); len(plan.Actions) > 0 || !decidetest.HasReason(plan, "ClusterNotInstalled") {
		t.Errorf("not installed: %+v", plan)
	}
}

// TestConvergenceOfAddingNodes holds the promise of convergence for a cluster
// that grows: no machine is installed twice, none that the file does not name,
// and none that was part of the cluster.
func TestConvergenceOfAddingNodes(t *testing.T) {
	t.Parallel()
	exercised := map[model.Kind]int{}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 2))
		w := decidetest.AnyGrowing(t, random)
		for range 20 {
			if err := w.Settle(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			w.Pass()
		}
		installed := map[string]int{}
		for _, a := range w.Writes {
			exercised[a.Kind]++
			if a.Kind == model.InstallHost {
				installed[a.Target]++
			}
			if a.Kind == model.StartInstall || a.Kind == model.RegisterCluster || installed[a.Target] > 1 || a.Target == "host-stranger" {
				t.Fatalf("seed %d: writes %v", seed, decidetest.Keys(w.Writes))
			}
		}
		w.Writes = nil
		if err := w.Settle(); err != nil || len(w.Writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, decidetest.Keys(w.Writes), err)
		}
	}
	for _, kind := range []model.Kind{model.AllowAddHosts, model.RegisterInfraEnv, model.UpdateHost, model.BindHost, model.InstallHost} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
}

// TestAddingANode walks an installed cluster to one with the worker that was
// not there, from the image that it was installed with or from the pool.
func TestAddingANode(t *testing.T) {
	for _, bind := range []spec.BindMode{spec.BindEarly, spec.BindLate} {
		c := decidetest.Sample(3, 2)
		c.Spec.InfraEnv.Bind = bind
		w := decidetest.InstalledWithout(t, c, false)
		if plan := w.Decide(); !slices.Equal(plan.Missing, []string{"worker-1"}) || plan.Next != "{add-node -f FILE}" {
			t.Errorf("%s, before: %+v", bind, plan)
		}
		w.Absent, w.Desired.Options.AddNodes = "", true
		wiped := false
		for range 20 {
			plan := w.Decide()
			if decidetest.HasKind(plan, model.InstallHost) {
				wiped = slices.ContainsFunc(plan.Wipes, func(x model.Wipe) bool { return x.Host == "worker-1" && x.Install })
			}
			w.Do(t, plan.Actions...)
			if len(plan.Actions) == 0 {
				w.Pass()
			}
		}
		plan := w.Decide()
		if plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Added, []string{"worker-1"}) || len(plan.Missing) > 0 {
			t.Errorf("%s: %+v", bind, plan)
		}
		if !wiped {
			t.Errorf("%s: the disk is not named before it is written over", bind)
		}
		var kinds []model.Kind
		for _, a := range w.Writes {
			kinds = append(kinds, a.Kind)
		}
		want := []model.Kind{model.AllowAddHosts, model.UpdateHost, model.InstallHost}
		if bind == spec.BindLate {
			want = slices.Insert(want, 1, model.BindHost)
		}
		if fmt.Sprint(kinds) != fmt.Sprint(want) {
			t.Errorf("%s: writes %v, want %v", bind, kinds, want)
		}
	}
}

// TestAddNodesOfAFile adds the hosts of a file of kind Nodes, of any role, and nothing
// else: the cluster's own hosts are no strangers, and nothing of it is compared.
func TestAddNodesOfAFile(t *testing.T) {
	for _, hub := range []bool{false, true} {
		w := decidetest.Grown(t, hub, spec.Host{
			Name: "w-5", Labels: map[string]string{"rack": "b"},
			Taints: []spec.Taint{{Key: "slow", Effect: "NoSchedule"}}, Addresses: []string{"192.168.127.250"}, ProviderID: "metal3://m/w-5",
		}, spec.Host{Name: "cp-3", Role: spec.ControlPlane}, spec.Host{Name: "vote", Role: spec.Arbiter})
		w.Observed.Cluster.Settings[model.SettingInstallConfigOverrides] = model.ValueOf("{}")
		earlier := decidetest.Machine("w-4", "52:54:00:00:04:04", 44)
		earlier.Day2, earlier.State = true, model.HostAdded
		w.Observed.Hosts = append(w.Observed.Hosts, earlier)
		w.Desired.Spec.Spec.Registry.Mirrors = []spec.Mirror{{Source: "quay.io/a", Mirrors: []string{"m.io/a"}}}
		var plan model.Plan
		for range 12 {
			w.Rest(t)
			w.Pass()
			plan = w.Decide()
			for _, warning := range plan.Warnings {
				t.Errorf("hub %v: %+v", hub, warning)
			}
		}
		if plan.Verdict != model.VerdictInstalled || len(plan.Actions) > 0 || !slices.Equal(plan.Added, []string{"w-5", "cp-3", "vote"}) {
			t.Errorf("hub %v: %+v", hub, plan)
		}
		if got := w.Count(model.InstallHost); got != 3 ||
			w.Count(model.RegisterCluster)+w.Count(model.UpdateCluster)+w.Count(model.RegisterInfraEnv) > 0 {
			t.Errorf("hub %v: writes %v", hub, decidetest.Keys(w.Writes))
		}
		for _, a := range w.Writes {
			for name := range a.Settings {
				if strings.Contains(string(name), "taint") || strings.Contains(string(name), "address") ||
					strings.Contains(string(name), "provider") {
					t.Errorf("hub %v: %s sends %s", hub, a.Key, name)
				}
			}
		}
	}
}

// TestNodesOfAnImportedCluster: where the service has no kubeconfig, none can be
// downloaded.
func TestNodesOfAnImportedCluster(t *testing.T) {
	w := decidetest.Grown(t, false, spec.Host{Name: "w-5"})
	w.Observed.Cluster.Kubeconfig, w.Observed.Results.Kubeconfig = false, false
	w.Live(t, 12)
	if plan := w.Decide(); plan.Verdict != model.VerdictInstalled ||
		!strings.HasPrefix(plan.Next.String(), "kubectl get csr, with the cluster's own kubeconfig") {
		t.Errorf("plan %+v", plan)
	}
}

// TestNodesNeedTheirCluster: no command makes a cluster of a file of kind Nodes.
func TestNodesNeedTheirCluster(t *testing.T) {
	for _, adds := range []bool{true, false} {
		w := decidetest.NewWorld(&model.Desired{Spec: decidetest.NodesOf(t, spec.Host{Name: "w-5"}),
			Options: model.Options{AddNodes: adds}})
		plan, lines := follow(w)
		if len(plan.Actions)+len(lines) > 0 || !decidetest.HasReason(plan, "ClusterNotInstalled") ||
			plan.Blockers[0].Field != "spec.cluster" || plan.Blockers[0].Remedy != "{get clusters}" ||
			!strings.Contains(plan.Blockers[0].Message, "lab.example.com") {
			t.Errorf("add-node %v: %+v, then %v", adds, plan, lines)
		}
		w = decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		w.Desired = &model.Desired{Spec: decidetest.NodesOf(t, spec.Host{Name: "w-5"}), Options: model.Options{AddNodes: adds}}
		plan, lines = follow(w)
		if len(plan.Actions) > 0 || !decidetest.HasReason(plan, "ClusterNotInstalled") ||
			strings.Contains(strings.Join(lines, "\n"), "start the installation") {
			t.Errorf("add-node %v, before the install: %+v, then %v", adds, plan, lines)
		}
	}
}
