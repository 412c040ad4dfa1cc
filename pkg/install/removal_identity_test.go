package install_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

func (w *shrinking) dropNode(name string) {
	w.spoke.Nodes = slices.DeleteFunc(w.spoke.Nodes, func(n model.Node) bool { return n.Name == name })
	delete(w.pods, name)
}

func (w *shrinking) dropHost(name string) {
	w.hosts = slices.DeleteFunc(w.hosts, func(h model.Host) bool { return h.Hostname == name })
}

func (w *shrinking) host(name string) *model.Host {
	i := slices.IndexFunc(w.hosts, func(h model.Host) bool { return h.Hostname == name })
	return &w.hosts[i]
}

// TestWhichMachine is that nothing is done to what may be another machine, and that no member of
// etcd is given up by a way round the node.
func TestWhichMachine(t *testing.T) {
	for name, test := range map[string]struct {
		world  func() *shrinking
		reason string // of what refuses it; "" where something may be done
		never  model.Kind
	}{
		"a voter whose Node was deleted, and another is ill": {func() *shrinking {
			w := newShrinking(3, 2, false, "cp-2")
			w.withBMC("cp-2")
			w.dropNode("cp-2")
			w.spoke.Etcd.Unhealthy = []string{"cp-1"}
			return w
		}, "ControlPlaneNotWell", model.PowerOff},
		"a node of another name, and no record": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.withBMC("worker-1")
			w.desired.Spec.Host("worker-1").Hostname = ""
			w.dropHost("worker-1")
			w.node("worker-1").Name = "worker-1.dhcp.example.com"
			return w
		}, "UnknownNode", model.PowerOff},
		"the BMC of the file, and another machine": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.withBMC("worker-1")
			w.host("worker-1").Inventory.Interfaces[0].MAC = "52:54:00:aa:aa:aa"
			return w
		}, "", model.PowerOff},
		"a name of the file that another node has": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.host("worker-1").Hostname = "node-b"
			w.node("worker-1").Addresses = []netip.Addr{netip.MustParseAddr("192.168.127.77")}
			return w
		}, "", model.CordonNode},
		"a node that names another's Machine": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.node("worker-1").Machine = "m-worker-0"
			w.pods["worker-1"] = nil
			return w
		}, "MachineOfOtherNode", model.MarkMachine},
		"a BareMetalHost that another Machine has": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.spoke.HostOfMetal("bmh-worker-1").Consumer = "m-worker-0"
			return w
		}, "MetalOfOtherMachine", model.DeleteMetalHost},
		"the old record of replaced hardware": {func() *shrinking {
			w := newShrinking(3, 2, false, "old-id")
			w.desired.Spec.Spec.Hosts = w.desired.Spec.Spec.Hosts[:4]
			old := machine("worker-1", "52:54:00:ff:ff:ff", 50)
			old.ID, old.Hostname, old.State = "old-id", "worker-1", model.HostAdded
			w.hosts = append(w.hosts, old)
			return w
		}, "OtherMachine", model.CordonNode},
		"a machine of the pool": {func() *shrinking {
			w := newShrinking(3, 2, false, "pool-id")
			h := machine("worker-1", "52:54:00:ff:ff:ff", 60)
			h.ID, h.Hostname, h.State, h.ClusterID = "pool-id", "worker-1", model.HostUnbound, ""
			w.hosts = append(w.hosts, h)
			return w
		}, "UnknownNode", model.CordonNode},
		"a member whose node and record are gone": {func() *shrinking {
			w := newShrinking(4, 0, false, "cp-3")
			w.dropNode("cp-3")
			w.dropHost("cp-3")
			return w
		}, "UnknownNode", ""},
		"a member whose address is not the record's": {func() *shrinking {
			w := newShrinking(4, 0, false, "cp-3")
			w.dropNode("cp-3")
			w.host("cp-3").Inventory.Interfaces[0].Addresses = []string{"192.168.127.99/24"}
			return w
		}, "EtcdMemberUnknown", model.RemoveHost},
		"another member without a node": {func() *shrinking {
			w := newShrinking(4, 0, false, "cp-2")
			w.dropNode("cp-3")
			return w
		}, "EtcdQuorum", model.CordonNode},
		"a voter without the role": {func() *shrinking {
			w := newShrinking(3, 2, false, "cp-2")
			w.node("cp-2").Roles = []string{"worker"}
			return w
		}, "EtcdQuorum", model.CordonNode},
		"a voter whose member has another address": {func() *shrinking {
			w := newShrinking(3, 2, false, "cp-2")
			w.node("cp-2").Addresses = nil
			w.host("cp-2").Inventory.Interfaces = nil
			return w
		}, "EtcdUnknown", model.CordonNode},
		"a voter whose Machine somebody deletes": {func() *shrinking {
			w := newShrinking(3, 2, true, "cp-2")
			w.spoke.MachineOf("cp-2").Deleting = true
			return w
		}, "EtcdQuorum", model.DeleteMachine},
		"a voter with a Machine, and no node": {func() *shrinking {
			w := newShrinking(3, 2, true, "cp-2")
			w.dropNode("cp-2")
			return w
		}, "EtcdQuorum", model.DeleteMachine},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world()
			for range 3 {
				plan := w.decide()
				if test.reason != "" && (!hasReason(plan, test.reason) || len(plan.Actions) > 0) {
					t.Fatalf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
				}
				for _, a := range plan.Actions {
					if a.Kind == test.never {
						t.Fatalf("%s: %s", a.Kind, a.Name)
					}
					if err := w.apply(a); err != nil && test.reason != "" {
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
	w := newShrinking(4, 0, false, "cp-3")
	old := *w.node("cp-3")
	w.desired.Options.Remove.UIDs = map[string]string{"cp-3": "agreed"}
	if plan := w.decide(); len(plan.Actions) > 0 || !hasReason(plan, "NodeMadeAnew") {
		t.Errorf("another than was agreed: %v, %+v", keys(plan.Actions), plan.Blockers)
	}
	w.desired.Options.Remove.UIDs["cp-3"] = old.UID
	if _, err := w.settled(); err != nil || w.node("cp-3") != nil { // nobody takes the member out
		t.Fatal(err, w.kinds())
	}
	old.UID, old.Cordoned, old.Leaving, old.Deleting = "new", false, false, false
	w.spoke.Nodes = append(w.spoke.Nodes, old)
	if plan := w.decide(); len(plan.Actions) > 0 || !hasReason(plan, "NodeMadeAnew") {
		t.Errorf("one that was made meanwhile: %v, %+v", keys(plan.Actions), plan.Blockers)
	}
}

// TestBothAreMarked: two Machines of a set that somebody has marked do not wait for each other
// without an end, and the set is not lowered while it may give up either.
func TestBothAreMarked(t *testing.T) {
	w := newShrinking(3, 3, true, "worker-1", "worker-2")
	for i := range w.spoke.Machines {
		m := &w.spoke.Machines[i]
		m.ToBeDeleted = m.Node == "worker-1" || m.Node == "worker-2"
	}
	if plan, err := w.settled(); err != nil || !hasReason(plan, "OtherMachineFirst") || len(w.spoke.MachineSets[0].Lowered) > 0 {
		t.Errorf("%v, %s: %+v %+v", err, w.kinds(), plan.Waits, plan.Blockers)
	}
}

// TestAnotherWasGivenUp: a MachineSet that gave up another Machine is not lowered again.
func TestAnotherWasGivenUp(t *testing.T) {
	w := newShrinking(3, 3, true, "worker-1")
	for len(w.spoke.MachineSets[0].Lowered) == 0 {
		for _, a := range w.decide().Actions {
			if err := w.apply(a); err != nil {
				t.Fatal(err)
			}
			w.memory.Note(a, nil, w.at)
		}
		if len(w.spoke.MachineSets[0].Lowered) == 0 {
			if err := w.pass(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if next := w.decide().Next.String(); strings.Contains(next, "uncordon") {
		t.Errorf("what is given up cannot be kept: %s", next)
	}
	w.spoke.MachineOf("worker-2").Deleting = true
	plan := w.decide()
	if len(plan.Actions) > 0 || !hasReason(plan, "MachineSetRaised") || strings.Contains(plan.Blockers[0].Remedy.String(), "scale") {
		t.Errorf("%v, %+v", keys(plan.Actions), plan.Blockers)
	}
}

// TestVotersAddress: a worker that has an address of a voter, too, has not its member of etcd.
func TestVotersAddress(t *testing.T) {
	w := newShrinking(3, 2, false, "worker-0")
	w.node("worker-0").Addresses = append(w.node("worker-0").Addresses, w.node("cp-0").Addresses...)
	removal := w.decide().Removals[0]
	if removal.Votes || slices.ContainsFunc(removal.Left, func(s model.Step) bool { return strings.Contains(s.Message, "etcd") }) {
		t.Errorf("%+v", removal)
	}
}
