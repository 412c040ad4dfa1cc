package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestMachinesOfAPoolThatNoFileNames are another user's: they neither hold
// the install up, nor are they bound, installed or complained about.
func TestMachinesOfAPoolThatNoFileNames(t *testing.T) {
	for _, status := range []string{"known-unbound", "discovering-unbound", "disconnected-unbound", "insufficient-unbound", "unbinding"} {
		c := decidetest.Sample(3, 0)
		c.Spec.InfraEnv.Bind = spec.BindLate
		w := decidetest.ReadyWorld(t, c)
		other := decidetest.Machine("other", "52:54:00:ff:ff:ff", 90)
		other.State, other.Status, other.ClusterID = model.HostUnbound, status, ""
		if status == "unbinding" {
			other.State = model.HostReleasing
		}
		other.Validations = []model.Validation{{ID: "has-min-memory", Category: "hardware", Status: "failure",
			Message: "too little memory"}}
		w.Observed.Hosts = append(w.Observed.Hosts, other)
		plan := w.Decide()
		if !decidetest.HasKind(plan, model.StartInstall) || decidetest.HasKind(plan, model.BindHost) || len(plan.Blockers) > 0 {
			t.Errorf("%s: actions %v, blockers %+v", status, decidetest.Keys(plan.Actions), plan.Blockers)
		}
		w.Observed.Cluster.State = model.ClusterBlocked
		if plan := w.Decide(); len(plan.Blockers) > 0 {
			t.Errorf("%s: the checks of a machine that is not ours block: %+v", status, plan.Blockers)
		}
		w.Observed.Cluster.State = model.ClusterInstalling
		for _, x := range w.Decide().Waits {
			if strings.Contains(string(x.Scope), "other") {
				t.Errorf("%s: waits for %q", status, x.For)
			}
		}
	}
}

// TestPoolOfMoreThanAreMissing takes none of a pool's unnamed machines while there
// are more of them than the file counts: which are meant, a person says.
func TestPoolOfMoreThanAreMissing(t *testing.T) {
	c := decidetest.Sample(3, 0)
	c.Spec.Hosts, c.Spec.AcceptUnknownHosts, c.Spec.InfraEnv.Bind = nil, true, spec.BindLate
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	for range 3 {
		w.Rest(t)
	}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		h := decidetest.Machine(name, "52:54:00:00:02:0"+name, i)
		h.State, h.Status, h.ClusterID = model.HostUnbound, "known-unbound", ""
		w.Observed.Hosts = append(w.Observed.Hosts, h)
	}
	plan := w.Decide()
	if !decidetest.HasReason(plan, "SurplusHosts") || decidetest.HasKind(plan, model.BindHost) {
		t.Fatalf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if !strings.Contains(plan.Blockers[0].Message, "id host-"+name) {
			t.Errorf("%s is not among those that are named: %s", name, plan.Blockers[0].Message)
		}
	}
	w.Observed.Hosts = w.Observed.Hosts[:3]
	for range 10 {
		w.Rest(t)
		for i := range w.Observed.Hosts {
			if h := &w.Observed.Hosts[i]; h.State == model.HostBinding {
				h.State = model.HostReady
			}
		}
	}
	bound := 0
	for _, a := range w.Writes {
		if a.Kind == model.BindHost {
			bound++
		}
	}
	if bound != 3 {
		t.Errorf("%d machines were bound; the cluster has 3", bound)
	}
	w.Observed.Cluster.State = model.ClusterReady
	if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("not started: %+v", plan)
	}
}

// TestMoreMachinesThanTheFileCounts: the service would install every machine of the cluster, so that nothing is
// started, written or approved before the user has said which are meant.
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
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		c := w.Desired.Spec
		c.Spec.AcceptUnknownHosts, c.Spec.Topology.Workers = true, &test.workers
		for i := 3 - test.named; i > 0; i-- { // they are there, and only not named
			h := &w.Observed.Hosts[i-1]
			h.ID, h.Hostname = "stranger-of-"+h.ID, ""
			h.Inventory.Interfaces = []model.Interface{{Name: "eth0", MAC: "52:54:00:ff:00:0" + string(rune('0'+i))}}
		}
		c.Spec.Hosts = c.Spec.Hosts[3-test.named:]
		for i := range test.came - (3 - test.named) {
			w.Observed.Hosts = append(w.Observed.Hosts,
				decidetest.Machine("stranger"+string(rune('0'+i)), "52:54:00:ff:ff:0"+string(rune('0'+i)), 90+i))
			w.Observed.Hosts[len(w.Observed.Hosts)-1].State = model.HostReady
		}
		plan := w.Decide()
		if decidetest.HasReason(plan, "SurplusHosts") != test.blocked || decidetest.HasKind(plan, model.StartInstall) == test.blocked {
			t.Errorf("%s: actions %v, blockers %+v", name, decidetest.Keys(plan.Actions), plan.Blockers)
			continue
		}
		if !test.blocked {
			continue
		}
		b := plan.Blockers[0]
		if len(plan.Blockers) != 1 || b.Cure != model.CurePerson || len(b.Hosts) != test.came ||
			!strings.Contains(b.Remedy.String(), "oaictl delete host") {
			t.Errorf("%s: blockers %+v", name, plan.Blockers)
		}
	}
}

// TestUnnamedMachinesThatTheFileCounts are waited for beside the named ones.
func TestUnnamedMachinesThatTheFileCounts(t *testing.T) {
	c := decidetest.Sample(3, 2)
	c.Spec.AcceptUnknownHosts, c.Spec.Hosts = true, c.Spec.Hosts[:3]
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Live(t, 8)
	plan := w.Decide()
	if decidetest.HasKind(plan, model.StartInstall) || !w.Observed.Cluster.InstallStarted.IsZero() {
		t.Fatal("the install was started without the two machines that the file counts")
	}
	if !slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.HasPrefix(x.For, "2 more hosts") }) {
		t.Errorf("waits %+v", plan.Waits)
	}
}

// TestOldPool waits for optional workers since the cluster is there, not since
// a user made the pool.
func TestOldPool(t *testing.T) {
	c := decidetest.Sample(3, 1)
	none := 0
	c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(30 * time.Minute)}
	w := decidetest.ReadyWorld(t, c)
	w.Observed.InfraEnvs[0].Created = decidetest.Start().Add(-1000 * time.Hour)
	w.Observed.Cluster.Created = w.Observed.At
	w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-0" })
	if plan := w.Decide(); decidetest.HasKind(plan, model.StartInstall) {
		t.Error("the worker was not waited for at all")
	}
	w.Observed.At = w.Observed.At.Add(31 * time.Minute)
	if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("the worker is waited for too long: %+v", plan)
	}
}

// TestUnreadMachineThatFellSilent: no install waits for its inventory for ever.
func TestUnreadMachineThatFellSilent(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	silent := decidetest.Machine("silent", "", 9)
	silent.Inventory, silent.State = model.Inventory{}, model.HostDisconnected
	w.Observed.Hosts = append(w.Observed.Hosts, silent)
	if plan := w.Decide(); !decidetest.HasReason(plan, "HostDisconnected") {
		t.Errorf("plan %+v", plan)
	}
}
