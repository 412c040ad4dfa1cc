package decide_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestDriftAfterTheStart is named for the cluster, its images and its hosts, once
// each, and nothing is written.
func TestDriftAfterTheStart(t *testing.T) {
	for _, state := range []model.ClusterState{model.ClusterInstalling, model.ClusterInstalled} {
		c := decidetest.Sample(3, 0)
		c.Spec.Network.Defaults.NTP = []string{"old.example.com"}
		c.Spec.Network.MTU, c.Spec.FIPS = 1400, new(bool)
		c.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
		c.Spec.Hosts[1].Labels = map[string]string{"rack": "a"}
		w := decidetest.ReadyWorld(t, c)
		w.Observed.Cluster.State = state
		if plan := w.Decide(); len(plan.Warnings) > 0 {
			t.Errorf("%s: nothing was edited, and yet: %+v", state, plan.Warnings)
		}
		c.Spec.Network.Defaults.NTP = []string{"new.example.com"} // of cluster and image: reported once
		fips := true
		c.Spec.Network.MTU, c.Spec.FIPS = 1500, &fips
		c.Spec.Discovery.KernelArgs = []string{"console=ttyS1"}
		c.Spec.Hosts[1].Labels = map[string]string{"rack": "b"}
		plan := w.Decide()
		var told []string
		for _, x := range plan.Warnings {
			told = append(told, string(x.Scope)+" "+strings.Fields(x.Message)[0])
		}
		slices.Sort(told)
		want := []string{
			"cluster spec.network.defaults.ntp", "cluster spec.overrides.installConfig", "cluster the",
			"host/cp-1 spec.hosts[cp-1].labels", "infraenv/lab spec.discovery.kernelArgs",
		}
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %q; want %q", state, told, want)
		}
		for _, a := range plan.Actions {
			if !strings.HasPrefix(string(a.Kind), "Save") {
				t.Errorf("%s: %s is written", state, a.Key)
			}
		}
	}
}

// TestRolesWithHyperthreading mean the same without arbiters whether those are
// among them or not.
func TestRolesWithHyperthreading(t *testing.T) {
	one := 1
	for name, test := range map[string]struct {
		roles    spec.RoleSet
		have     spec.RoleSet
		arbiters bool
		same     bool
	}{
		"all there are":          {spec.RoleSet{"control-plane", "worker"}, spec.RoleSet{"all"}, false, true},
		"the other way round":    {spec.RoleSet{"all"}, spec.RoleSet{"control-plane", "worker"}, false, true},
		"with an arbiter":        {spec.RoleSet{"control-plane", "worker"}, spec.RoleSet{"all"}, true, false},
		"one that has not":       {spec.RoleSet{"control-plane"}, spec.RoleSet{"all"}, false, false},
		"an arbiter of nobody's": {spec.RoleSet{"arbiter"}, spec.RoleSet{"none"}, false, true},
	} {
		c := decidetest.Sample(3, 0)
		c.Spec.Hyperthreading = test.roles
		w := decidetest.ReadyWorld(t, c)
		if test.arbiters {
			c.Spec.Topology.Arbiters = &one
		}
		w.Observed.Cluster.Settings[model.SettingHyperthreading] = model.ValueOf(test.have)
		if differs := decidetest.HasKind(w.Decide(), model.UpdateCluster); differs == test.same {
			t.Errorf("%s: %+v", name, w.Decide().Actions)
		}
		w.Observed.Cluster.State = model.ClusterInstalling
		told := slices.ContainsFunc(w.Decide().Warnings, func(x model.Warning) bool {
			return strings.Contains(x.Message, string(model.SettingHyperthreading))
		})
		if told == test.same {
			t.Errorf("%s, too late: %+v", name, w.Decide().Warnings)
		}
	}
}

// How many machines of the control plane there are may change until the install
// starts where the service takes it, and nowhere else.
func TestControlPlaneThatChanges(t *testing.T) {
	for name, test := range map[string]struct {
		registered, file [3]int // control plane, arbiters, workers
		rest             bool
		state            model.ClusterState
		want             string // the change, "" for none
		told             []string
	}{
		"more": {registered: [3]int{3, 0, 0}, file: [3]int{5, 0, 0}, want: "spec.topology.controlPlane: 3 → 5"},
		"less": {registered: [3]int{5, 0, 1}, file: [3]int{3, 0, 1}, want: "spec.topology.controlPlane: 5 → 3"},
		"no arbiter": {registered: [3]int{2, 1, 0}, file: [3]int{3, 0, 0},
			want: "spec.topology.arbiters: 1 → 0, spec.topology.controlPlane: 2 → 3"},
		"an arbiter": {registered: [3]int{3, 0, 0}, file: [3]int{2, 1, 0},
			want: "spec.topology.arbiters: 0 → 1, spec.topology.controlPlane: 3 → 2"},
		"fencing, and no arbiter":     {registered: [3]int{2, 1, 0}, file: [3]int{2, 0, 0}, want: "spec.topology.arbiters: 1 → 0"},
		"workers, which start counts": {registered: [3]int{3, 0, 2}, file: [3]int{3, 0, 1}},
		"to a single node": {registered: [3]int{3, 0, 0}, file: [3]int{1, 0, 0},
			told: []string{"spec.topology.controlPlane is 1 in the file and 3 in the service; it cannot be changed after the cluster was registered"}},
		"from a single node": {registered: [3]int{1, 0, 0}, file: [3]int{3, 0, 0},
			told: []string{"spec.topology.controlPlane is 3 in the file and 1 in the service; it cannot be changed after the cluster was registered"}},
		"over REST": {rest: true, registered: [3]int{3, 0, 0}, file: [3]int{5, 0, 0},
			told: []string{"spec.topology.controlPlane is 5 in the file and 3 in the service; it cannot be changed after the cluster was registered"}},
		"over REST, an arbiter": {rest: true, registered: [3]int{3, 0, 0}, file: [3]int{3, 1, 0}},
		"after the start": {registered: [3]int{2, 1, 0}, file: [3]int{3, 0, 0}, state: model.ClusterInstalling, told: []string{
			"spec.topology.arbiters is 0 in the file and 1 in the service; it cannot be changed after the installation was started",
			"spec.topology.controlPlane is 3 in the file and 2 in the service; it cannot be changed after the installation was started",
		}},
	} {
		w := decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(test.registered[0], test.registered[2])})
		w.Hub = !test.rest
		w.Rest(t)
		have := w.Observed.Cluster.Settings
		have[model.SettingArbiters], have[model.SettingWorkers] = model.ValueOf(test.registered[1]), model.ValueOf(test.registered[2])
		if test.rest {
			delete(have, model.SettingArbiters)
			delete(have, model.SettingWorkers)
		}
		c := decidetest.Sample(test.file[0], test.file[2])
		c.Spec.Topology.Arbiters, c.Spec.Network.VIPs = &test.file[1], w.Desired.Spec.Spec.Network.VIPs
		w.Desired = &model.Desired{Spec: c}
		if test.state != "" {
			w.Observed.Cluster.State = test.state
		}
		plan := w.Decide()
		var changed, told []string
		for _, a := range plan.Actions {
			for _, x := range a.Changes {
				changed = append(changed, x.Field+": "+x.From+" → "+x.To)
			}
		}
		for _, x := range plan.Warnings {
			told = append(told, x.Message)
		}
		if got := strings.Join(changed, ", "); got != test.want || !slices.Equal(told, test.told) {
			t.Errorf("%s: changes %q, warnings %q", name, got, told)
		}
		if err := w.Settle(); err != nil {
			t.Errorf("%s: a second look: %v", name, err)
		}
	}
}

// keepingCase is a difference between file and service, and what becomes of it.
type keepingCase struct {
	setting    model.Setting
	want, have []string // of the file, of the service
	keeping    model.Keeping
	hosts      int    // that have registered, of three
	network    string // of theirs, of the form 10.0.0.%/24
	writes     bool
	blocker    string
	wait       string
	warnings   int
}

// What a service does with a setting decides whether a difference is written, a wait, a warning, a blocker, or none.
func TestKeepingOfClusterSettings(t *testing.T) {
	const ours, theirs = "10.0.0.%/24", "192.0.2.%/24"
	networks, vips := model.SettingMachineNetworks, model.SettingAPIVIPs
	list := func(texts ...string) []string { return texts }
	for name, test := range map[string]keepingCase{
		"kept": {setting: networks, want: list("10.0.0.0/24"), keeping: model.KeptAsWritten, writes: true},
		"frozen": {setting: networks, want: list("10.0.0.0/24"), have: list("10.1.0.0/24"), keeping: model.KeptFrozen,
			warnings: 1},
		"cleared":            {setting: networks, want: list("10.0.0.0/24"), keeping: model.KeptCleared},
		"cleared with hosts": {setting: networks, want: list("10.0.0.0/24"), keeping: model.KeptCleared, hosts: 3, network: ours},
		"derived of nothing": {setting: networks, want: list("10.0.0.0/24"), have: list("10.1.0.0/24"),
			keeping: model.KeptDerived},
		"derived as in the file": {setting: networks, want: list("10.0.0.0/24"), have: list("10.0.0.0/24"),
			keeping: model.KeptDerived, hosts: 3, network: ours},
		"derived and not in the file": {setting: networks, want: list("10.0.0.0/16"), have: list("10.0.0.0/24"),
			keeping: model.KeptDerived, hosts: 1, network: ours, blocker: "MachineNetworkDiffers"},
		"derived and one of the two": {setting: networks, want: list("10.0.0.0/24", "10.1.0.0/24"), have: list("10.0.0.0/24"),
			keeping: model.KeptDerived, hosts: 1, network: ours, warnings: 1},
		"not yet without hosts": {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet,
			wait: "a host with an address in the network of 10.0.0.90: until then, the service does not accept a change of spec.network.vips.api"},
		"not yet with another network": {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet,
			hosts: 1, network: theirs, wait: "a host with an address in the network of 10.0.0.90: until then, the service does not accept a change of spec.network.vips.api"},
		"now": {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet, hosts: 1, network: ours,
			writes: true},
		"never": {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet, hosts: 3, network: theirs,
			blocker: "VIPOutsideHostNetworks"},
	} {
		t.Run(name, func(t *testing.T) { test.run(t) })
	}
}

func (test *keepingCase) run(t *testing.T) {
	t.Helper()
	c := decidetest.Sample(3, 0)
	w := decidetest.ReadyWorld(t, c)
	o := &w.Observed
	c.Spec.Network.VIPs = spec.VIPs{}
	if test.setting == model.SettingMachineNetworks {
		c.Spec.Network.Machine = test.want
	} else {
		c.Spec.Network.VIPs.API = test.want
	}
	for _, vips := range []model.Setting{model.SettingAPIVIPs, model.SettingIngressVIPs} {
		delete(o.Cluster.Settings, vips)
	}
	o.Cluster.State = model.ClusterDiscovering
	o.Cluster.Keeping = map[model.Setting]model.Keeping{test.setting: test.keeping}
	o.Cluster.Settings[test.setting] = model.ValueOf(append([]string{}, test.have...))
	o.Hosts = o.Hosts[:test.hosts]
	for i := range o.Hosts {
		nics := o.Hosts[i].Inventory.Interfaces
		for j := range nics {
			nics[j].Addresses = []string{strings.ReplaceAll(test.network, "%", strconv.Itoa(10+i))}
		}
	}
	plan := w.Decide()
	check.Equal(t, decidetest.HasKind(plan, model.UpdateCluster), test.writes, "written")
	if (test.blocker != "") != (len(plan.Blockers) > 0) || test.blocker != "" && !decidetest.HasReason(plan, test.blocker) {
		t.Errorf("blockers %+v, want %q", plan.Blockers, test.blocker)
	}
	said := slices.ContainsFunc(plan.Waits, func(w model.Wait) bool { return w.For == test.wait })
	waits := slices.ContainsFunc(plan.Waits, func(w model.Wait) bool { return strings.HasPrefix(w.Key, "cluster/spec.") })
	if said != (test.wait != "") || waits != said {
		t.Errorf("waits %+v, want %q", plan.Waits, test.wait)
	}
	if len(plan.Warnings) != test.warnings {
		t.Errorf("warnings %+v, want %d", plan.Warnings, test.warnings)
	}
}

// TestBundlesAreSentAsTheFileSays, with their optional operators, and together
// with the operators where those change.
func TestBundlesAreSentAsTheFileSays(t *testing.T) {
	c := decidetest.Sample(3, 0)
	c.Spec.Bundles = []spec.Bundle{{ID: "virtualization", Optional: []string{"mtv"}}, {ID: "openshift-ai"}}
	c.Spec.Operators = []spec.Operator{{Name: "lvm"}}
	w := decidetest.ReadyWorld(t, c)
	want := model.ValueOf([]spec.Bundle{{ID: "virtualization", Optional: []string{"mtv"}}, {ID: "openshift-ai"}})
	first := decidetest.NewWorld(w.Desired).Decide()
	check.Equal(t, first.Actions[0].Settings[model.SettingBundles], want, "registered with")
	if !strings.Contains(fmt.Sprintf("%+v", first.Actions[0].Changes), "virtualization with mtv, openshift-ai") {
		t.Errorf("shown as %+v", first.Actions[0].Changes)
	}
	w.Observed.Cluster.Settings[model.SettingBundles] = model.ValueOf([]spec.Bundle{{ID: "openshift-ai"}, {ID: "virtualization"}})
	if plan := w.Decide(); len(plan.Warnings) > 0 || !decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("the ids alone: %v, %+v", decidetest.Keys(plan.Actions), plan.Warnings)
	}
	delete(w.Observed.Cluster.Settings, model.SettingBundles)
	if plan := w.Decide(); len(plan.Warnings) > 0 {
		t.Errorf("not given back: %+v", plan.Warnings)
	}
	w.Desired.Spec.Spec.Operators = []spec.Operator{{Name: "lvm"}, {Name: "mce"}}
	plan := w.Decide()
	if len(plan.Actions) != 1 || plan.Actions[0].Settings[model.SettingBundles] != want ||
		plan.Actions[0].Settings[model.SettingOperators] == "" {
		t.Errorf("another operator: %+v", plan.Actions)
	}
}
