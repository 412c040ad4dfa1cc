package nodeplan_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestWhichMachine: nothing is done to a machine that may be another one, and no member of etcd is removed by a way
// around the node.
func TestWhichMachine(t *testing.T) {
	for name, test := range map[string]struct {
		world  func() *decidetest.Shrinking
		reason string // of what refuses it; "" where something may be done
		never  model.Kind
	}{
		"a voter whose Node was deleted, and another is ill": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "cp-2")
			w.WithBMC("cp-2")
			w.DropNode("cp-2")
			w.Spoke.Etcd.Unhealthy = []string{"cp-1"}
			return w
		}, "ControlPlaneNotWell", model.PowerOff},
		"a node of another name, and no record": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.WithBMC("worker-1")
			w.Desired.Spec.Host("worker-1").Hostname = ""
			w.DropHost("worker-1")
			w.Node("worker-1").Name = "worker-1.dhcp.example.com"
			return w
		}, "UnknownNode", model.PowerOff},
		"the BMC of the file, and another machine": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.WithBMC("worker-1")
			w.Host("worker-1").Inventory.Interfaces[0].MAC = "52:54:00:aa:aa:aa"
			return w
		}, "", model.PowerOff},
		"a name of the file that another node has": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Host("worker-1").Hostname = "node-b"
			w.Node("worker-1").Addresses = []netip.Addr{netip.MustParseAddr("192.168.127.77")}
			return w
		}, "", model.CordonNode},
		"a node that names another's Machine": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Node("worker-1").Machine = "m-worker-0"
			w.Pods["worker-1"] = nil
			return w
		}, "MachineOfOtherNode", model.MarkMachine},
		"a BareMetalHost that another Machine has": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Spoke.HostOfMetal("bmh-worker-1").Consumer = "m-worker-0"
			return w
		}, "MetalOfOtherMachine", model.DeleteMetalHost},
		"the old record of replaced hardware": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "old-id")
			w.Desired.Spec.Spec.Hosts = w.Desired.Spec.Spec.Hosts[:4]
			old := decidetest.Machine("worker-1", "52:54:00:ff:ff:ff", 50)
			old.ID, old.Hostname, old.State = "old-id", "worker-1", model.HostAdded
			w.Hosts = append(w.Hosts, old)
			return w
		}, "OtherMachine", model.CordonNode},
		"a machine of the pool": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "pool-id")
			h := decidetest.Machine("worker-1", "52:54:00:ff:ff:ff", 60)
			h.ID, h.Hostname, h.State, h.ClusterID = "pool-id", "worker-1", model.HostUnbound, ""
			w.Hosts = append(w.Hosts, h)
			return w
		}, "UnknownNode", model.CordonNode},
		"a member whose node and record are gone": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, false, "cp-3")
			w.DropNode("cp-3")
			w.DropHost("cp-3")
			return w
		}, "UnknownNode", ""},
		"a member whose address is not the record's": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, false, "cp-3")
			w.DropNode("cp-3")
			w.Host("cp-3").Inventory.Interfaces[0].Addresses = []string{"192.168.127.99/24"}
			return w
		}, "EtcdMemberUnknown", model.RemoveHost},
		"another member without a node": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, false, "cp-2")
			w.DropNode("cp-3")
			return w
		}, "EtcdQuorum", model.CordonNode},
		"a voter without the role": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "cp-2")
			w.Node("cp-2").Roles = []string{"worker"}
			return w
		}, "EtcdQuorum", model.CordonNode},
		"a voter whose member has another address": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "cp-2")
			w.Node("cp-2").Addresses = nil
			w.Host("cp-2").Inventory.Interfaces = nil
			return w
		}, "EtcdUnknown", model.CordonNode},
		"a voter whose Machine somebody deletes": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "cp-2")
			w.Spoke.MachineOf("cp-2").Deleting = true
			return w
		}, "EtcdQuorum", model.DeleteMachine},
		"a voter with a Machine, and no node": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "cp-2")
			w.DropNode("cp-2")
			return w
		}, "EtcdQuorum", model.DeleteMachine},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world()
			for range 3 {
				plan := w.Decide()
				if test.reason != "" && (!decidetest.HasReason(plan, test.reason) || len(plan.Actions) > 0) {
					t.Fatalf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
				}
				for _, a := range plan.Actions {
					if a.Kind == test.never {
						t.Fatalf("%s: %s", a.Kind, a.Name)
					}
					if err := w.Apply(a); err != nil && test.reason != "" {
						t.Fatal(err)
					}
				}
				for _, wait := range plan.Waits {
					if strings.Contains(wait.Next.String(), "member remove") && test.reason != "" {
						t.Errorf("waits for %s", wait.For)
					}
				}
			}
		})
	}
}

// TestNodeMadeAnew: a node of the same name that was made meanwhile is not the one that goes.
func TestNodeMadeAnew(t *testing.T) {
	w := decidetest.NewShrinking(4, 0, false, "cp-3")
	old := *w.Node("cp-3")
	w.Desired.Options.Remove.UIDs = map[string]string{"cp-3": "agreed"}
	if plan := w.Decide(); len(plan.Actions) > 0 || !decidetest.HasReason(plan, "NodeMadeAnew") {
		t.Errorf("another than was agreed: %v, %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
	w.Desired.Options.Remove.UIDs["cp-3"] = old.UID
	if _, err := w.Settled(); err != nil || w.Node("cp-3") != nil { // no person takes the member out
		t.Fatal(err, w.Kinds())
	}
	old.UID, old.Cordoned, old.Leaving, old.Deleting = "new", false, false, false
	w.Spoke.Nodes = append(w.Spoke.Nodes, old)
	if plan := w.Decide(); len(plan.Actions) > 0 || !decidetest.HasReason(plan, "NodeMadeAnew") {
		t.Errorf("one that was made meanwhile: %v, %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
}

// TestBothAreMarked: two Machines of a set that a user has marked do not wait for each other
// without an end, and the set is not lowered while it may give up either.
func TestBothAreMarked(t *testing.T) {
	w := decidetest.NewShrinking(3, 3, true, "worker-1", "worker-2")
	for i := range w.Spoke.Machines {
		m := &w.Spoke.Machines[i]
		m.ToBeDeleted = m.Node == "worker-1" || m.Node == "worker-2"
	}
	if plan, err := w.Settled(); err != nil || !decidetest.HasReason(plan, "OtherMachineFirst") || len(w.Spoke.MachineSets[0].Lowered) > 0 {
		t.Errorf("%v, %s: %+v %+v", err, w.Kinds(), plan.Waits, plan.Blockers)
	}
}

// TestVotersAddress: a worker that has an address of a voter, too, has not its member of etcd.
func TestVotersAddress(t *testing.T) {
	w := decidetest.NewShrinking(3, 2, false, "worker-0")
	w.Node("worker-0").Addresses = append(w.Node("worker-0").Addresses, w.Node("cp-0").Addresses...)
	removal := w.Decide().Removals[0]
	if removal.Votes || slices.ContainsFunc(removal.Left, func(s model.Step) bool { return strings.Contains(s.Message, "etcd") }) {
		t.Errorf("%+v", removal)
	}
}
