package install_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// readyWorld is a world in which nothing but the install call is left to do.
func readyWorld(t *testing.T, c *spec.Cluster) *world {
	t.Helper()
	w := newWorld(&model.Desired{Spec: c})
	for range 40 {
		plan := w.decide()
		if hasKind(plan, model.StartInstall) {
			w.writes = nil
			return w
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
	t.Fatalf("never ready: %+v", w.decide())
	return nil
}

func hasKind(plan model.Plan, kind model.Kind) bool {
	return slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Kind == kind })
}

func hasReason(plan model.Plan, reason string) bool {
	return slices.ContainsFunc(plan.Blockers, func(b model.Blocker) bool { return b.Reason == reason })
}

// TestMachinesOfAPoolThatNobodyNames are somebody else's: they neither hold
// the install up, nor are they bound, installed or complained about.
func TestMachinesOfAPoolThatNobodyNames(t *testing.T) {
	for _, status := range []string{"known-unbound", "discovering-unbound", "disconnected-unbound", "insufficient-unbound", "unbinding"} {
		c := sample(3, 0)
		c.Spec.InfraEnv.Bind = spec.BindLate
		w := readyWorld(t, c)
		other := machine("other", "52:54:00:ff:ff:ff", 90)
		other.State, other.Status, other.ClusterID = model.HostUnbound, status, ""
		if status == "unbinding" {
			other.State = model.HostReleasing
		}
		other.Validations = []model.Validation{{ID: "has-min-memory", Category: "hardware", Status: "failure", Message: "too little memory"}}
		w.observed.Hosts = append(w.observed.Hosts, other)
		plan := w.decide()
		if !hasKind(plan, model.StartInstall) || hasKind(plan, model.BindHost) || len(plan.Blockers) > 0 {
			t.Errorf("%s: actions %v, blockers %+v", status, keys(plan.Actions), plan.Blockers)
		}
		w.observed.Cluster.State = model.ClusterBlocked
		if plan := w.decide(); len(plan.Blockers) > 0 {
			t.Errorf("%s: the checks of a machine that is not ours block: %+v", status, plan.Blockers)
		}
		w.observed.Cluster.State = model.ClusterInstalling
		for _, x := range w.decide().Waits {
			if strings.Contains(string(x.Scope), "other") {
				t.Errorf("%s: waits for %q", status, x.For)
			}
		}
	}
}

// TestMachinesOfAnotherClusterAreLeftAlone where a plane shows them.
func TestMachinesOfAnotherClusterAreLeftAlone(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	other := machine("other", w.desired.Spec.Spec.Hosts[0].Match.MAC, 90)
	other.ClusterID = "cluster-2"
	w.observed.Hosts = append([]model.Host{other}, w.observed.Hosts...)
	if plan := w.decide(); !hasKind(plan, model.StartInstall) || len(plan.Blockers) > 0 {
		t.Errorf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
}

// TestMachineThatAnotherClusterHas is not waited for as if it were to come: a
// person has to decide. A worker that is not required holds nothing up.
func TestMachineThatAnotherClusterHas(t *testing.T) {
	c := sample(3, 1)
	none := 0
	c.Spec.Topology.Required.Workers = &none
	for name, test := range map[string]struct {
		host, cluster, text string
		blocks              bool
	}{
		"control plane":      {"cp-0", "prod", "is bound to the cluster prod (cluster-2)", true},
		"nameless cluster":   {"cp-0", "", "is bound to the cluster cluster-2", true},
		"worker, not needed": {"worker-0", "prod", "is bound to the cluster prod (cluster-2)", false},
	} {
		w := newWorld(&model.Desired{Spec: c})
		w.absent = test.host
		for range 5 {
			if err := settle(w); err != nil {
				t.Fatal(err)
			}
			w.pass()
		}
		other := machine("other", c.Host(test.host).Match.MAC, 90)
		other.ClusterID = "cluster-2"
		w.observed.Elsewhere = []model.HostElsewhere{{Host: machine("third", "52:54:00:ff:ff:01", 91)}, {Host: other, ClusterName: test.cluster}}
		plan := w.decide()
		if hasReason(plan, "BoundElsewhere") != test.blocks {
			t.Errorf("%s: blockers %+v", name, plan.Blockers)
		}
		said := slices.ContainsFunc(plan.Waits, func(x model.Wait) bool {
			return strings.Contains(x.For, test.text) && strings.Contains(x.Next.String(), "host-other")
		})
		if test.blocks {
			said = strings.Contains(plan.Blockers[0].Message, test.text) && strings.Contains(plan.Blockers[0].Remedy.String(), "host-other")
		}
		if !said {
			t.Errorf("%s: not said; blockers %+v, waits %+v", name, plan.Blockers, plan.Waits)
		}
	}
}

// TestPoolOfMoreThanAreMissing takes none of a pool's unnamed machines while there
// are more of them than the file counts: which are meant, a person says.
func TestPoolOfMoreThanAreMissing(t *testing.T) {
	c := sample(3, 0)
	c.Spec.Hosts, c.Spec.AcceptUnknownHosts, c.Spec.InfraEnv.Bind = nil, true, spec.BindLate
	w := newWorld(&model.Desired{Spec: c})
	for range 3 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		h := machine(name, "52:54:00:00:02:0"+name, i)
		h.State, h.Status, h.ClusterID = model.HostUnbound, "known-unbound", ""
		w.observed.Hosts = append(w.observed.Hosts, h)
	}
	plan := w.decide()
	if !hasReason(plan, "SurplusHosts") || hasKind(plan, model.BindHost) {
		t.Fatalf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if !strings.Contains(plan.Blockers[0].Message, "id host-"+name) {
			t.Errorf("%s is not among those that are named: %s", name, plan.Blockers[0].Message)
		}
	}
	w.observed.Hosts = w.observed.Hosts[:3]
	for range 10 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		for i := range w.observed.Hosts {
			if h := &w.observed.Hosts[i]; h.State == model.HostBinding {
				h.State = model.HostReady
			}
		}
	}
	bound := 0
	for _, a := range w.writes {
		if a.Kind == model.BindHost {
			bound++
		}
	}
	if bound != 3 {
		t.Errorf("%d machines were bound; the cluster has 3", bound)
	}
	w.observed.Cluster.State = model.ClusterReady
	if plan := w.decide(); !hasKind(plan, model.StartInstall) {
		t.Errorf("not started: %+v", plan)
	}
}

// TestMoreMachinesThanTheFileCounts: the service would install every machine of
// the cluster, so that nothing is started, written or approved before a person has
// said which are meant.
func TestMoreMachinesThanTheFileCounts(t *testing.T) {
	for name, test := range map[string]struct {
		named   int // of the three of the control plane
		workers int // that the file counts without naming them
		came    int // machines that it does not name
		blocked bool
	}{
		"none named, as many as counted": {workers: 1, came: 4},
		"none named, one too many":       {workers: 1, came: 5, blocked: true},
		"some named, as many as counted": {named: 3, workers: 1, came: 1},
		"some named, one too many":       {named: 3, workers: 1, came: 2, blocked: true},
		"all named, one more":            {named: 3, came: 1, blocked: true},
	} {
		w := readyWorld(t, sample(3, 0))
		c := w.desired.Spec
		c.Spec.AcceptUnknownHosts, c.Spec.Topology.Workers = true, &test.workers
		for i := 3 - test.named; i > 0; i-- { // they are there, and only not named
			h := &w.observed.Hosts[i-1]
			h.ID, h.Hostname = "stranger-of-"+h.ID, ""
			h.Inventory.Interfaces = []model.Interface{{Name: "eth0", MAC: "52:54:00:ff:00:0" + string(rune('0'+i))}}
		}
		c.Spec.Hosts = c.Spec.Hosts[3-test.named:]
		for i := range test.came - (3 - test.named) {
			w.observed.Hosts = append(w.observed.Hosts, machine("stranger"+string(rune('0'+i)), "52:54:00:ff:ff:0"+string(rune('0'+i)), 90+i))
			w.observed.Hosts[len(w.observed.Hosts)-1].State = model.HostReady
		}
		plan := w.decide()
		if hasReason(plan, "SurplusHosts") != test.blocked || hasKind(plan, model.StartInstall) == test.blocked {
			t.Errorf("%s: actions %v, blockers %+v", name, keys(plan.Actions), plan.Blockers)
			continue
		}
		if !test.blocked {
			continue
		}
		b := plan.Blockers[0]
		if len(plan.Blockers) != 1 || b.Cure != model.CurePerson || len(b.Hosts) != test.came || !strings.Contains(b.Remedy.String(), "oaictl delete host") {
			t.Errorf("%s: blockers %+v", name, plan.Blockers)
		}
	}
}

// TestUnnamedMachinesThatTheFileCounts are waited for beside the named ones.
func TestUnnamedMachinesThatTheFileCounts(t *testing.T) {
	c := sample(3, 2)
	c.Spec.AcceptUnknownHosts, c.Spec.Hosts = true, c.Spec.Hosts[:3]
	w := newWorld(&model.Desired{Spec: c})
	for range 8 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	plan := w.decide()
	if hasKind(plan, model.StartInstall) || !w.observed.Cluster.InstallStarted.IsZero() {
		t.Fatal("the install was started without the two machines that the file counts")
	}
	if !slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.HasPrefix(x.For, "2 more hosts") }) {
		t.Errorf("waits %+v", plan.Waits)
	}
}

// TestHostsThatCannotTakePart before the install: nobody waits in silence.
func TestHostsThatCannotTakePart(t *testing.T) {
	for _, test := range []struct {
		state   model.HostState
		status  string
		reason  string // of the blocker, or
		waitFor string
	}{
		{model.HostFailed, "error", "LeftFromEarlierInstall", ""},
		{model.HostCancelled, "cancelled", "LeftFromEarlierInstall", ""},
		{model.HostInstalled, "installed", "LeftFromEarlierInstall", ""},
		{model.HostAdded, "added-to-existing-cluster", "LeftFromEarlierInstall", ""},
		{model.HostReleasing, "unbinding-pending-user-action", "BootDiscoveryImage", ""},
		{model.HostResetting, "resetting-pending-user-action", "BootDiscoveryImage", ""},
		{model.HostNeedsUser, "installing-pending-user-action", "BootedDiscoveryImage", ""},
		{model.HostDisconnected, "disconnected", "HostDisconnected", ""},
		{model.HostUnbound, "disconnected-unbound", "HostDisconnected", ""},
		{model.HostUnbound, "insufficient-unbound", "", "to pass the checks"},
		{model.HostUnbound, "discovering-unbound", "", "to be discovered"},
		{model.HostBinding, "binding", "BindingTakesLong", ""},
		{model.HostPreparing, "preparing-for-installation", "", "to be ready"},
		{model.HostInstalling, "installing", "", "to be ready"},
		{model.HostUnknown, "levitating", "", `"levitating"`},
	} {
		w := readyWorld(t, sample(3, 0))
		h := &w.observed.Hosts[1]
		h.State, h.Status, h.Since = test.state, test.status, w.observed.At.Add(-time.Hour)
		plan := w.decide()
		if hasKind(plan, model.StartInstall) {
			t.Errorf("%s: the install is started", test.status)
		}
		if test.reason != "" && !hasReason(plan, test.reason) {
			t.Errorf("%s: blockers %+v; want %s", test.status, plan.Blockers, test.reason)
		}
		if test.waitFor != "" && !slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.Contains(x.For, test.waitFor) }) {
			t.Errorf("%s: waits %+v; want %q", test.status, plan.Waits, test.waitFor)
		}
		// A machine that nobody named is no different where it may take part.
		w.desired.Spec.Spec.Hosts, w.desired.Spec.Spec.AcceptUnknownHosts = nil, true
		if test.state == model.HostUnbound || test.state == model.HostReleasing {
			continue
		}
		if plan := w.decide(); hasKind(plan, model.StartInstall) || len(plan.Blockers)+len(plan.Waits) == 0 {
			t.Errorf("%s, unnamed: actions %v, and nobody is told why", test.status, keys(plan.Actions))
		}
	}
}

// TestOneMachineForTwoHosts can't become both.
func TestOneMachineForTwoHosts(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.desired.Spec.Spec.Hosts[1].Match = spec.Match{Serial: "SNcp-0"}
	w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == "host-cp-1" })
	plan := w.decide()
	if !hasReason(plan, "AmbiguousHost") || hasKind(plan, model.StartInstall) {
		t.Errorf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
	for _, x := range plan.Waits {
		if strings.Contains(x.For, "cp-1 to boot") {
			t.Errorf("a person is asked to boot cp-1, which is there: %q", x.For)
		}
	}
}

// TestAmbiguousMachinesAreNotWrittenTo: which of the two is cp-0 is for a
// person to say.
func TestAmbiguousMachinesAreNotWrittenTo(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.observed.Hosts[0].Settings = model.Settings{}
	w.observed.Hosts = append(w.observed.Hosts, machine("twin", w.desired.Spec.Spec.Hosts[0].Match.MAC, 7))
	plan := w.decide()
	if len(plan.Actions) > 0 || !hasReason(plan, "AmbiguousHost") {
		t.Errorf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
}

// TestOldPool waits for optional workers since the cluster is there, not since
// somebody made the pool.
func TestOldPool(t *testing.T) {
	c := sample(3, 1)
	none := 0
	c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(30 * time.Minute)}
	w := readyWorld(t, c)
	w.observed.InfraEnvs[0].Created = start.Add(-1000 * time.Hour)
	w.observed.Cluster.Created = w.observed.At
	w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-0" })
	if plan := w.decide(); hasKind(plan, model.StartInstall) {
		t.Error("the worker was not waited for at all")
	}
	w.observed.At = w.observed.At.Add(31 * time.Minute)
	if plan := w.decide(); !hasKind(plan, model.StartInstall) {
		t.Errorf("the worker is waited for too long: %+v", plan)
	}
}

// TestUnreadMachineThatFellSilent has nobody wait for its inventory for ever.
func TestUnreadMachineThatFellSilent(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	silent := machine("silent", "", 9)
	silent.Inventory, silent.State = model.Inventory{}, model.HostDisconnected
	w.observed.Hosts = append(w.observed.Hosts, silent)
	if plan := w.decide(); !hasReason(plan, "HostDisconnected") {
		t.Errorf("plan %+v", plan)
	}
}
