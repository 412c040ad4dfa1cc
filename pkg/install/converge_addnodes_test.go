package install_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installedWithout is a world whose cluster is installed, all but the last
// worker, which is not required and has never been switched on.
func installedWithout(t *testing.T, c *spec.Cluster, hub bool) *world {
	t.Helper()
	none := 0
	c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(time.Minute)}
	w := newWorld(&model.Desired{Spec: c})
	w.hub = hub
	w.absent = c.Spec.Hosts[len(c.Spec.Hosts)-1].Name
	for range 40 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		if w.decide().Verdict == model.VerdictInstalled {
			w.writes = nil
			return w
		}
		w.pass()
	}
	t.Fatalf("never installed: %+v", w.decide())
	return nil
}

// anyGrowing is some state in which a cluster may be when nodes are added to it.
func anyGrowing(t *testing.T, random *rand.Rand) *world {
	c := anyCluster(random)
	if len(c.Spec.Hosts) == *c.Spec.Topology.ControlPlane {
		*c.Spec.Topology.Workers = 1
		c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "worker-0", Role: spec.Worker, Match: spec.Match{MAC: "52:54:00:00:01:00"}})
	}
	for i := range c.Spec.Hosts {
		c.Spec.Hosts[i].Disk.Hints.DeviceName = "" // one that fits no disk would never get as far
	}
	w := installedWithout(t, c, random.IntN(2) == 0)
	w.absent, w.desired.Options.AddNodes = "", true
	if random.IntN(3) == 0 {
		c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "more", Hostname: "more", Match: spec.Match{MAC: "52:54:00:00:02:00"}})
	}
	if random.IntN(4) == 0 { // lost in the install
		w.observed.Hosts[random.IntN(len(w.observed.Hosts))].State = model.HostFailed
	}
	for range random.IntN(8) {
		for _, a := range w.decide().Actions {
			if random.IntN(4) > 0 {
				_ = w.apply(a)
			}
		}
		w.pass()
	}
	for i := range w.observed.Hosts {
		if h := &w.observed.Hosts[i]; h.Day2 && random.IntN(3) == 0 {
			states := []model.HostState{
				model.HostDiscovering, model.HostDisconnected, model.HostBlocked, model.HostReady, model.HostInstalling, model.HostNeedsUser,
				model.HostResetting, model.HostFailed, model.HostCancelled, model.HostUnknown, model.HostAdded,
			}
			h.State = states[random.IntN(len(states))]
		}
	}
	if random.IntN(3) == 0 {
		stranger := machine("stranger", "52:54:00:ff:ff:ff", 90)
		stranger.Day2, stranger.State = true, model.HostReady
		if w.hub {
			stranger.Settings[model.SettingApproved] = model.ValueOf(false)
		}
		if random.IntN(3) == 0 {
			stranger.Inventory = model.Inventory{}
		}
		w.observed.Hosts = append(w.observed.Hosts, stranger)
	}
	w.writes = nil
	return w
}

// TestConvergenceOfAddingNodes holds the promise of convergence for a cluster
// that grows: no machine is installed twice, none that the file does not name,
// and none that was part of the cluster.
func TestConvergenceOfAddingNodes(t *testing.T) {
	exercised := map[model.Kind]int{}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 2))
		w := anyGrowing(t, random)
		for range 20 {
			if err := settle(w); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			w.pass()
		}
		installed := map[string]int{}
		for _, a := range w.writes {
			exercised[a.Kind]++
			if a.Kind == model.InstallHost {
				installed[a.Target]++
			}
			if a.Kind == model.StartInstall || a.Kind == model.RegisterCluster || installed[a.Target] > 1 || a.Target == "host-stranger" {
				t.Fatalf("seed %d: writes %v", seed, keys(w.writes))
			}
		}
		w.writes = nil
		if err := settle(w); err != nil || len(w.writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, keys(w.writes), err)
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
		c := sample(3, 2)
		c.Spec.InfraEnv.Bind = bind
		w := installedWithout(t, c, false)
		if plan := w.decide(); !slices.Equal(plan.Missing, []string{"worker-1"}) || plan.Next != "{add-node -f FILE}" {
			t.Errorf("%s, before: %+v", bind, plan)
		}
		w.absent, w.desired.Options.AddNodes = "", true
		wiped := false
		for range 20 {
			plan := w.decide()
			if hasKind(plan, model.InstallHost) {
				wiped = slices.ContainsFunc(plan.Wipes, func(x model.Wipe) bool { return x.Host == "worker-1" && x.Install })
			}
			for _, a := range plan.Actions {
				if err := w.apply(a); err != nil {
					t.Fatal(err)
				}
			}
			if len(plan.Actions) == 0 {
				w.pass()
			}
		}
		plan := w.decide()
		if plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Added, []string{"worker-1"}) || len(plan.Missing) > 0 {
			t.Errorf("%s: %+v", bind, plan)
		}
		if !wiped {
			t.Errorf("%s: the disk is not named before it is written over", bind)
		}
		var kinds []model.Kind
		for _, a := range w.writes {
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

// TestManifestsThatTheFileDoesNotName are removed where it says that there are none.
func TestManifestsThatTheFileDoesNotName(t *testing.T) {
	for name, test := range map[string]struct {
		says   []spec.ManifestSource
		theirs bool
		writes string
		warns  bool
	}{
		"says nothing":          {},
		"says none":             {says: []spec.ManifestSource{}, writes: "cluster/manifest/openshift/50-x.yaml/remove"},
		"names another":         {says: []spec.ManifestSource{{}}, warns: true},
		"of somebody's cluster": {says: []spec.ManifestSource{}, theirs: true},
	} {
		w := readyWorld(t, sample(3, 0))
		w.observed.Cluster.Manifests = map[string]string{"openshift/50-x.yaml": "sum"}
		w.observed.Cluster.Owned = !test.theirs
		w.desired.Spec.Spec.Manifests = test.says
		plan := w.decide()
		var writes []string
		for _, a := range plan.Actions {
			if a.Kind == model.RemoveManifest {
				writes = append(writes, a.Key)
			}
		}
		warned := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool { return strings.Contains(x.Message, "openshift/50-x.yaml") })
		if strings.Join(writes, " ") != test.writes || warned != test.warns {
			t.Errorf("%s: writes %v, warnings %+v", name, writes, plan.Warnings)
		}
		for _, a := range plan.Actions {
			if err := w.apply(a); err != nil {
				t.Fatal(err)
			}
		}
		if again := w.decide(); hasKind(again, model.RemoveManifest) {
			t.Errorf("%s: removed again", name)
		}
	}
}

// TestImageOfAddedNodes is the one that the cluster was installed with, but where that
// cannot serve.
func TestImageOfAddedNodes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *world, c *spec.Cluster)
		made   string // the InfraEnv that is registered
		writes string // keys of all that is written
	}{
		"serves":  {change: func(*world, *spec.Cluster) {}},
		"deleted": {func(w *world, _ *spec.Cluster) { w.observed.InfraEnvs = nil }, "lab", "infraenv/lab/register"},
		"of another architecture": {func(w *world, c *spec.Cluster) {
			c.Spec.OpenShift.Arch = spec.X86
			w.observed.InfraEnvs[0].Settings[model.SettingArch] = model.ValueOf("arm64")
		}, "lab-2", "infraenv/lab-2/register"},
		"of another version": {func(w *world, c *spec.Cluster) {
			c.Spec.Discovery.OSVersion = "4.22"
		}, "lab-2", "infraenv/lab-2/register"},
		"of the same version": {change: func(w *world, c *spec.Cluster) { c.Spec.Discovery.OSVersion = "4.20" }},
		"holds a machine that was lost in the install": {func(w *world, _ *spec.Cluster) {
			w.host("host-worker-0").State = model.HostFailed
		}, "lab-2", "infraenv/lab-2/register"},
		"lacks the network of the new machine": {func(_ *world, c *spec.Cluster) {
			c.Spec.Hosts[4].Net = &spec.HostNet{IP: "192.168.127.50/24", DNS: []string{"192.168.127.1"}}
		}, "", "infraenv/lab/update"},
	} {
		t.Run(name, func(t *testing.T) {
			c := sample(3, 2)
			w := installedWithout(t, c, false)
			w.desired.Options.AddNodes, w.observed.Cluster.State = true, model.ClusterAddingHosts
			if w.observed.InfraEnvs[0].Settings[model.SettingArch] == "" {
				w.observed.InfraEnvs[0].Settings[model.SettingArch] = model.ValueOf("x86_64")
			}
			test.change(w, c)
			plan := w.decide()
			var made string
			for _, a := range plan.Actions {
				if a.Kind == model.RegisterInfraEnv {
					made = a.Name
				}
			}
			if made != test.made || strings.Join(keys(plan.Actions), " ") != test.writes || len(plan.Blockers) > 0 {
				t.Errorf("actions %v, blockers %+v; want %q", keys(plan.Actions), plan.Blockers, test.writes)
			}
		})
	}
}
