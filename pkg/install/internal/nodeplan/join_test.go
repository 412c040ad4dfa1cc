package nodeplan_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestConvergenceOfNodes: in each state of a growing cluster, and with each thing that strangers ask
// for, each host becomes a node by two approvals, no stranger gets any, and a second run
// writes nothing.
func TestConvergenceOfNodes(t *testing.T) {
	t.Parallel()
	exercised := map[model.Kind]int{}
	ready, marked := 0, 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 3))
		w := decidetest.AnyGrowing(t, random)
		w.Spoke = decidetest.NewSpoke()
		day1 := map[string]bool{}
		for i := range w.Observed.Hosts { // some of them have lost what the file says of them
			h := &w.Observed.Hosts[i]
			if h.State != model.HostInstalled || random.IntN(2) == 0 {
				continue
			}
			day1["node-"+h.Hostname] = true
			n := model.Node{Name: h.Hostname, UID: "node-" + h.Hostname, Created: decidetest.Start(), Ready: true,
				ReadySince: decidetest.Start()}
			if random.IntN(3) == 0 {
				n.ProviderID = "another"
			}
			w.Spoke.Seen.Nodes = append(w.Spoke.Seen.Nodes, n)
		}
		hostile := map[string]bool{}
		for range 30 {
			if random.IntN(4) == 0 {
				hostile[w.Spoke.Stranger(random, w)] = true
			}
			if err := w.Settle(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			w.Pass()
		}
		for uid, times := range w.Spoke.Approved {
			if hostile[uid] || times > 1 {
				t.Fatalf("seed %d: %s is approved %d times, a stranger's: %v", seed, uid, times, hostile[uid])
			}
		}
		for _, a := range w.Writes {
			exercised[a.Kind]++
			if day1[a.Target] {
				marked++
			}
		}
		w.Writes = nil
		if err := w.Settle(); err != nil || len(w.Writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, decidetest.Keys(w.Writes), err)
		}
		if plan := w.Decide(); plan.Verdict == model.VerdictInstalled {
			ready += len(plan.Ready)
		}
	}
	for _, kind := range []model.Kind{model.InstallHost, model.ApproveRequest, model.UpdateNode} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
	if marked == 0 {
		t.Error("no node of the install itself was ever given anything")
	}
	if ready == 0 {
		t.Error("no node was ever Ready")
	}
}

// TestOneQuestionOfMany: a question about one host keeps no other host from being added, where
// no person is there to answer. The run ends with it once the others are done.
func TestOneQuestionOfMany(t *testing.T) {
	w := decidetest.AddsOne(t)
	w.Memory.Seen(&w.Observed, w.Observed.At.Add(time.Minute))
	w.Desired.Options.Unattended = true
	w.Spoke.Seen.Requests[0].Approved = false
	w.Spoke.Ask(w.Observed.At, decidetest.ClientRequest(), "worker-1")

	c := w.Desired.Spec
	c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "worker-2", Hostname: "worker-2", Role: spec.Worker,
		Match: spec.Match{MAC: "52:54:00:00:09:09"}})
	other := decidetest.Machine("worker-2", "52:54:00:00:09:09", 92)
	other.ID, other.Hostname, other.Day2, other.State, other.Progress.Stage = "host-worker-2", "worker-2", true, model.HostInstalling,
		"Writing image to disk"
	w.Observed.Hosts = append(w.Observed.Hosts, other)

	plan := w.Decide()
	if !decidetest.HasReason(plan, "CertificateRequestPending") || plan.Fault != nil {
		t.Fatalf("while another host installs: blockers %+v, fault %v", plan.Blockers, plan.Fault)
	}
	host := w.Host("host-worker-2")
	host.State, host.Progress.Stage, host.Since, host.Rebooted = model.HostAdded, "Done", w.Observed.At, w.Observed.At
	if plan := w.Decide(); plan.Fault != nil {
		t.Fatalf("while another host joins: blockers %+v, fault %v", plan.Blockers, plan.Fault)
	}
	w.Spoke.Seen.Nodes = append(w.Spoke.Seen.Nodes, model.Node{
		Name: "worker-2", Created: w.Observed.At.Add(-2 * time.Hour), Ready: true, ReadySince: w.Observed.At.Add(-2 * time.Hour),
		Roles:  []string{"worker"},
		Config: model.NodeConfig{Current: "rendered", Desired: "rendered", State: "Done"},
	})
	host.Rebooted = w.Observed.At.Add(-3 * time.Hour)
	plan = w.Decide()
	if plan.Fault == nil || model.FaultOf(plan.Fault).Code != model.CodeNeedsUser || !slices.Contains(plan.Ready, "worker-2") ||
		!strings.Contains(plan.Fault.Error(), "worker-1") || !strings.Contains(string(plan.Fault.Next), "approve") {
		t.Errorf("once the other is a node: ready %v, waits %+v, blockers %+v, fault %v", plan.Ready, plan.Waits, plan.Blockers, plan.Fault)
	}
}

// TestRegisteredAgain: a node of the control plane whose machine has registered with the service once more, by a
// new id, is left alone, whether or not the old record is there; and a worker that has rebooted is added.
func TestRegisteredAgain(t *testing.T) {
	for name, test := range map[string]struct {
		recorded, ready bool
		reason          string // of a blocker
	}{
		"beside the old record":      {true, true, ""},
		"in place of the old record": {false, true, ""},
		"while its node is away":     {false, false, "RegisteredAgain"},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.AddsOne(t)
			w.Spoke.Seen.Requests[0].Approved, w.Spoke.Approved = false, map[string]int{}
			old := *w.Host("host-cp-1")
			again := old
			again.ID, again.Day2, again.State, again.Progress, again.Rebooted = "new-id", true, model.HostBlocked, model.HostProgress{},
				time.Time{}
			again.Validations = []model.Validation{{ID: "hostname-unique", Category: "network", Status: "failure",
				Message: "the hostname is not unique"}}
			w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == old.ID })
			w.Observed.Hosts = append([]model.Host{again}, w.Observed.Hosts...)
			if test.recorded {
				w.Observed.Hosts = append(w.Observed.Hosts, old)
			}
			prefix := must.Get(netip.ParsePrefix(old.Inventory.Interfaces[0].Addresses[0]))(t)
			w.Spoke.Seen.Nodes = append(w.Spoke.Seen.Nodes, model.Node{
				Name: "cp-1", UID: "node-cp-1", Created: decidetest.Start(), Ready: test.ready, Addresses: []netip.Addr{prefix.Addr()},
				Roles: []string{"master"},
			})
			plan := w.Decide()
			if !decidetest.HasKind(plan, model.ApproveRequest) || plan.Fault != nil {
				t.Errorf("the worker is left: actions %v, blockers %+v, fault %v", decidetest.Keys(plan.Actions), plan.Blockers, plan.Fault)
			}
			w.Live(t, 20)
			plan = w.Decide()
			if !slices.Contains(plan.Ready, "worker-1") {
				t.Errorf("ready %v: blockers %+v, waits %+v", plan.Ready, plan.Blockers, plan.Waits)
			}
			told := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
				return x.Reason == "RegisteredAgain" &&
					x.Next.String() == "if it runs from its disk, delete the new record in the service: oaictl delete host new-id"
			})
			if told != test.ready || (test.reason == "") != (plan.Verdict == model.VerdictInstalled) || test.reason != "" &&
				!decidetest.HasReason(plan, test.reason) {
				t.Errorf("%s: warnings %+v, blockers %+v, waits %+v", plan.Verdict, plan.Warnings, plan.Blockers, plan.Waits)
			}
			for _, a := range w.Writes {
				if a.Target == "new-id" {
					t.Errorf("%s is done to the node's machine", a.Key)
				}
			}
		})
	}
}
