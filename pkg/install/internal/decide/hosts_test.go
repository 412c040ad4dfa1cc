package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestNodeThatAnotherClusterHas cannot be waited for.
func TestNodeThatAnotherClusterHas(t *testing.T) {
	w := addingWorld(t)
	host := *w.Host("host-worker-1")
	host.ClusterID = "cluster-2"
	w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == host.ID })
	w.Observed.Elsewhere = []model.HostElsewhere{{Host: host, ClusterName: "prod"}}
	if plan := w.Decide(); !decidetest.HasReason(plan, "BoundElsewhere") {
		t.Errorf("blockers %+v, waits %+v", plan.Blockers, plan.Waits)
	}
}

// A host is the one machine that registers from its InfraEnv.
func TestHostByItsInfraEnv(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *decidetest.World)
		reason string // of the blocker, "" for none
		starts bool
	}{
		"its machine": {starts: true},
		"that and its MAC address": {starts: true, change: func(w *decidetest.World) {
			w.Desired.Spec.Host("cp-1").Match.MAC = "52:54:00:00:09:01"
		}},
		"another MAC address": {reason: "UnknownHost", change: func(w *decidetest.World) {
			w.Desired.Spec.Host("cp-1").Match.MAC = "52:54:00:00:00:77"
		}},
		"a second machine": {reason: "AmbiguousHost", change: func(w *decidetest.World) {
			second := decidetest.Machine("second", "52:54:00:00:00:78", 7)
			second.InfraEnvID, second.State = "infraenv-b", model.HostReady
			w.Observed.Hosts = append(w.Observed.Hosts, second)
		}},
		"a machine of the shared image": {reason: "UnknownHost", change: func(w *decidetest.World) {
			w.Host("host-cp-1").InfraEnvID = "infraenv-lab"
		}},
		"the machine of another host": {reason: "AmbiguousHost", change: func(w *decidetest.World) {
			w.Observed.Hosts[slices.IndexFunc(w.Observed.Hosts,
				func(h model.Host) bool { return h.ID == "host-cp-1" })].Inventory.Interfaces[0].MAC = "52:54:00:00:00:00"
		}},
	} {
		w := decidetest.ReadyWorld(t, decidetest.WithOwn(decidetest.Sample(3, 0), map[string]string{"cp-1": "b"}))
		if test.change != nil {
			test.change(w)
		}
		plan := w.Decide()
		reason := ""
		if len(plan.Blockers) > 0 {
			reason = plan.Blockers[0].Reason
		}
		if reason != test.reason || decidetest.HasKind(plan, model.StartInstall) != test.starts {
			t.Errorf("%s: actions %v, blockers %+v", name, decidetest.Keys(plan.Actions), plan.Blockers)
		}
	}
}

// TestMachinesOfAnotherClusterAreLeftAlone where a plane shows them.
func TestMachinesOfAnotherClusterAreLeftAlone(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	other := decidetest.Machine("other", w.Desired.Spec.Spec.Hosts[0].Match.MAC, 90)
	other.ClusterID = "cluster-2"
	w.Observed.Hosts = append([]model.Host{other}, w.Observed.Hosts...)
	if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) || len(plan.Blockers) > 0 {
		t.Errorf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
}

// TestMachineThatAnotherClusterHas is not waited for as if it were to come: a
// person has to decide. A worker that is not required holds nothing up.
func TestMachineThatAnotherClusterHas(t *testing.T) {
	c := decidetest.Sample(3, 1)
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
		w := decidetest.NewWorld(&model.Desired{Spec: c})
		w.Absent = test.host
		w.Live(t, 5)
		other := decidetest.Machine("other", c.Host(test.host).Match.MAC, 90)
		other.ClusterID = "cluster-2"
		w.Observed.Elsewhere = []model.HostElsewhere{{Host: decidetest.Machine("third", "52:54:00:ff:ff:01", 91)},
			{Host: other, ClusterName: test.cluster}}
		plan := w.Decide()
		if decidetest.HasReason(plan, "BoundElsewhere") != test.blocks {
			t.Errorf("%s: blockers %+v", name, plan.Blockers)
		}
		said := slices.ContainsFunc(plan.Waits, func(x model.Wait) bool {
			return strings.Contains(x.For, test.text) && strings.Contains(x.Next.String(), "host-other")
		})
		if test.blocks {
			said = strings.Contains(plan.Blockers[0].Message, test.text) && strings.Contains(plan.Blockers[0].Remedy.String(), "host-other")
		}
		if test.blocks && slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return x.Scope == model.ScopeHost.Of(test.host) }) {
			t.Errorf("%s: it is waited for: %+v", name, plan.Waits)
		}
		if !said {
			t.Errorf("%s: not said; blockers %+v, waits %+v", name, plan.Blockers, plan.Waits)
		}
	}
}

// TestOneMachineForTwoHosts can't become both.
func TestOneMachineForTwoHosts(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Desired.Spec.Spec.Hosts[1].Match = spec.Match{Serial: "SNcp-0"}
	w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-cp-1" })
	plan := w.Decide()
	if !decidetest.HasReason(plan, "AmbiguousHost") || decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
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
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Observed.Hosts[0].Settings = model.Settings{}
	w.Observed.Hosts = append(w.Observed.Hosts, decidetest.Machine("twin", w.Desired.Spec.Spec.Hosts[0].Match.MAC, 7))
	plan := w.Decide()
	if len(plan.Actions) > 0 || !decidetest.HasReason(plan, "AmbiguousHost") {
		t.Errorf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
}
