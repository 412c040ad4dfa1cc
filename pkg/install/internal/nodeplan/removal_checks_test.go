package nodeplan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRefusedRemovals is what forbids a removal, before anything is done.
func TestRefusedRemovals(t *testing.T) {
	for name, test := range map[string]struct {
		world  func() *decidetest.Shrinking
		reason string
		code   model.Code
		says   string
	}{
		"one of three": {func() *decidetest.Shrinking {
			return decidetest.NewShrinking(3, 2, true, "cp-0")
		}, "EtcdQuorum", model.CodeInput, "etcd would have 2 members, but it needs 3"},
		"two of four": {func() *decidetest.Shrinking {
			return decidetest.NewShrinking(4, 0, true, "cp-3", "cp-2")
		}, "EtcdQuorum", model.CodeInput, "without cp-3, cp-2, etcd would have 2 members"},
		"the only one": {func() *decidetest.Shrinking {
			return decidetest.NewShrinking(1, 2, false, "cp-0")
		}, "LastControlPlane", model.CodeInput, "the only node of the control plane"},
		"all of them": {func() *decidetest.Shrinking {
			return decidetest.NewShrinking(3, 0, false, "cp-0", "cp-1", "cp-2")
		}, "LastControlPlane", model.CodeInput, "no node of the control plane would remain"},
		"the arbiter": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, false, "cp-3")
			w.Node("cp-3").Roles = []string{"arbiter"}
			return w
		}, "LastArbiter", model.CodeInput, "is the arbiter"},
		"another member is ill": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, true, "cp-3")
			w.Spoke.Etcd.Unhealthy = []string{"cp-1"}
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "the etcd member cp-1 is not healthy"},
		"another member has not started": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, true, "cp-3")
			w.Spoke.Etcd.Unhealthy = []string{"192.168.127.11"}
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "the etcd member 192.168.127.11 is not healthy"},
		"another node is not Ready": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, true, "cp-3")
			w.Node("cp-1").Ready = false
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "cp-1 is not Ready"},
		"another goes already": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(5, 0, true, "cp-3")
			w.Spoke.MachineOf("cp-1").Deleting = true
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "the Machine m-cp-1 is being deleted"},
		"etcd does not answer": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, true, "cp-3")
			w.Spoke.Etcd.Trouble = "etcdserver: request timed out"
			return w
		}, "EtcdUnknown", model.CodeInput, "request timed out"},
		"nobody knows it": {func() *decidetest.Shrinking {
			return decidetest.NewShrinking(3, 2, true, "worker-7")
		}, "UnknownNode", model.CodeNotFound, "neither the cluster nor the service has a node or a host worker-7"},
		"a host that is no node yet": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Spoke.Nodes = w.Spoke.Nodes[:4]
			w.Hosts[4].State, w.Hosts[4].Inventory.Interfaces = model.HostReady, nil
			return w
		}, "NoNode", model.CodeInput, "is not a node of the cluster: its state is ready"},
		"a host that installs": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Hosts[4].State, w.Hosts[4].Status = model.HostInstalling, "installing-in-progress"
			return w
		}, "HostInstalls", model.CodeInput, "is being installed"},
		"a node of another name": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Node("worker-1").Name = "worker-1.lab.example.com"
			return w
		}, "NodeOfOtherName", model.CodeNotFound, "the node worker-1.lab.example.com has an address or the UUID of that host"},
		"several of that name": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "other")
			for i := range 2 {
				other := decidetest.Machine("other", "52:54:00:ff:ff:ff", 40+i)
				other.ID, other.Hostname, other.Inventory.Interfaces[0].MAC = fmt.Sprint("other-", i), "other",
					fmt.Sprintf("52:54:00:ff:ff:%02x", i)
				w.Hosts = append(w.Hosts, other)
			}
			return w
		}, "SeveralHosts", model.CodeNotFound, "other-0, other-1"},
		"DaemonSets": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Refused["worker-1"] = []model.DrainRefusal{
				{Reason: "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", Pods: []string{"dns/dns-1"}},
				{Reason: "Pods with local storage (use --delete-emptydir-data to override)", Pods: []string{"shop/cache"}},
			}
			return w
		}, "DrainRefused", model.CodeInput, "dns/dns-1; Pods with local storage (use --delete-emptydir-data to override): shop/cache"},
		"volumes that go with it": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Node("worker-1").Finalizers = []string{"topolvm.io/node"}
			w.Spoke.Volumes = []model.LocalVolume{{Name: "pv-1", Node: "worker-1", Claim: "shop/db-data"}}
			return w
		}, "VolumesDeleted", model.CodeInput, "of shop/db-data"},
		"a set that follows hosts": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Spoke.MachineSets[0].FollowsHosts = true
			return w
		}, "MachineSetFollowsHosts", model.CodeInput, "cannot be scaled down"},
		"a Machine of Cluster API": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Spoke.MachineOf("worker-1").Elsewhere = true
			return w
		}, "MachineElsewhere", model.CodeInput, "managed by Cluster API"},
		"another cluster": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Spoke.API = "https://api.other.example.com:6443"
			return w
		}, "OtherCluster", model.CodeInput, "is for another cluster"},
		"credentials": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Spoke.Trouble, w.Spoke.TroubleKind = "Unauthorized", model.TroubleCredentials
			return w
		}, "ClusterAccess", model.CodeAuth, "rejects the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world()
			plan := w.Decide()
			must.Do(t, decidetest.WellFormed(plan))
			if len(plan.Actions) > 0 || !decidetest.HasReason(plan, test.reason) || plan.Fault == nil ||
				model.FaultOf(plan.Fault).Code != test.code {
				t.Fatalf("actions %v, blockers %+v, fault %v", decidetest.Keys(plan.Actions), plan.Blockers, plan.Fault)
			}
			if !strings.Contains(plan.Fault.Error(), test.says) || plan.Fault.Next == "" {
				t.Errorf("says %v; next %s", plan.Fault, plan.Fault.Next)
			}
		})
	}
}

// TestMembersOfNoNode: beside a name that is not known, the members of etcd are named whose nodes are gone, but that of a
// node that is to go.
func TestMembersOfNoNode(t *testing.T) {
	w := decidetest.NewShrinking(5, 0, false, "worker-7", "cp-4")
	w.DropNode("cp-3")
	w.DropNode("cp-4")
	check.Equal(t, w.Decide().Blockers[0].Message, "neither the cluster nor the service has a node or a host worker-7; "+
		"these etcd members belong to no node: a3 (192.168.127.13)")
}

// TestNothingBeginsBesideARefusal: where one of several nodes is refused, none begins; one that has
// begun goes on, and what is refused does not end its way.
func TestNothingBeginsBesideARefusal(t *testing.T) {
	w := decidetest.NewShrinking(3, 3, true, "worker-0", "worker-1")
	w.Refused["worker-1"] = []model.DrainRefusal{{Reason: "Pods with local storage (use --delete-emptydir-data to override)",
		Pods: []string{"shop/cache"}}}
	if plan := w.Decide(); len(plan.Actions) > 0 || model.FaultOf(plan.Fault).Code != model.CodeInput {
		t.Errorf("actions %v, fault %v", decidetest.Keys(plan.Actions), plan.Fault)
	}
	w.Node("worker-0").Cordoned, w.Node("worker-0").Leaving = true, true
	plan := w.Decide()
	if strings.Join(decidetest.Keys(plan.Actions), " ") != "node/worker-0/evict" || plan.Fault != nil {
		t.Errorf("actions %v, fault %v", decidetest.Keys(plan.Actions), plan.Fault)
	}
	plan, err := w.Settled()
	if err != nil || model.FaultOf(plan.Fault).Code != model.CodeInput || w.Node("worker-0") != nil || w.Node("worker-1") == nil ||
		w.Node("worker-1").Cordoned {
		t.Errorf("%v, %v, %s", err, plan.Fault, w.Kinds())
	}
}

// TestWarningsOfRemoval: the warnings before a removal, and that there are none once it has begun.
func TestWarningsOfRemoval(t *testing.T) {
	w := decidetest.NewShrinking(3, 2, true, "worker-1")
	n := w.Node("worker-1")
	n.Labels["cluster.ocs.openshift.io/openshift-storage"] = ""
	w.Node("worker-0").Ready = false
	w.Pods["worker-1"][0].Owner, w.Pods["worker-1"][0].Local, w.Pods["worker-1"][1].Budget = "", true, "db"
	w.Spoke.Volumes = []model.LocalVolume{{Name: "pv", Node: "worker-1", Claim: "shop/data"},
		{Name: "pv2", Node: "worker-0", Claim: "shop/other"}}
	w.Spoke.Routers = []model.Router{{Controller: "default", Node: "worker-1", Ready: true}, {Controller: "default", Node: "worker-0"}}
	w.Spoke.Pools[1].Paused = true
	w.Spoke.VIPs = nil
	reasons := func() []string {
		var all []string
		for _, x := range w.Decide().Warnings {
			if x.Message == "" || x.Key == "" || x.Scope != "node/worker-1" {
				t.Errorf("%+v", x)
			}
			all = append(all, x.Reason)
		}
		return all
	}
	want := []string{"LocalVolumes", "StorageNode", "PodsLost", "EmptyDirLost", "BudgetHolds", "RouterGoes", "OwnBalancer", "PoolPaused",
		"OthersNotReady", "KeepsRunning"}
	check.Slice(t, reasons(), want, "told")
	check.Contains(t, w.Decide().Warnings[2].Message, "shop/web-worker-1", "of pods")
	check.Contains(t, w.Decide().Warnings[5].Message, "no other router is ready", "of the last router")
	n.Cordoned = true // by a user
	w.Memory = model.Memory{}
	check.Slice(t, reasons(), want, "of a cordoned node")
	n.Leaving = true
	w.Memory = model.Memory{}
	check.Slice(t, reasons(), want, "when it is gone on with")
	w.At = w.At.Add(time.Second)
	if got := reasons(); len(got) > 0 {
		t.Errorf("once it has begun: %v", got)
	}
}
