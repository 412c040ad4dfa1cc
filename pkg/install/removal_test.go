package install_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestOrderOfRemoval is what is done to a node of each kind, in its order, and that nothing is left
// to do then.
func TestOrderOfRemoval(t *testing.T) {
	const (
		drained = "CordonNode %[1]s, EvictPods %[1]s"
		ending  = "DeleteNode %[1]s, RemoveHost %[1]s"
	)
	for name, test := range map[string]struct {
		world  func() *shrinking
		wants  string
		says   string // of the end
		silent string // what the end does not say
	}{
		"a worker": {
			func() *shrinking { return newShrinking(3, 2, false, "worker-1") },
			fmt.Sprintf(drained+", "+ending, "worker-1"), "oaictl has not seen that worker-1 is off", "",
		},
		"with a BMC": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.withBMC("worker-1")
			return w
		}, fmt.Sprintf(drained+", PowerOff %[1]s, "+ending, "worker-1"), "removed: worker-1", "is off"},
		"with a BMC, and kept running": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.withBMC("worker-1")
			w.desired.Options.Remove.KeepRunning = true
			return w
		}, fmt.Sprintf(drained+", "+ending, "worker-1"), "has not seen that worker-1 is off", ""},
		"with a Machine": {
			func() *shrinking { return newShrinking(3, 2, true, "worker-1") },
			fmt.Sprintf(drained+", MarkMetalHost bmh-%[1]s, MarkMachine m-%[1]s, LowerMachineSet workers, DeleteMetalHost bmh-%[1]s, RemoveHost %[1]s", "worker-1"), "removed: worker-1", "",
		},
		"with a Machine that no set made": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.spoke.MachineOf("worker-1").MachineSet = ""
			w.spoke.MachineSets[0].Replicas = 1
			return w
		}, fmt.Sprintf(drained+", MarkMetalHost bmh-%[1]s, DeleteMachine m-%[1]s, DeleteMetalHost bmh-%[1]s, RemoveHost %[1]s", "worker-1"), "removed: worker-1", ""},
		"of the control plane, with a Machine": {
			func() *shrinking { return newShrinking(4, 0, true, "cp-3") },
			fmt.Sprintf(drained+", MarkMetalHost bmh-%[1]s, DeleteMachine m-%[1]s, DeleteMetalHost bmh-%[1]s, RemoveHost %[1]s", "cp-3"), "removed: cp-3", "",
		},
		"of the control plane, without": {func() *shrinking {
			w := newShrinking(4, 0, false, "cp-3")
			w.person = true
			return w
		}, fmt.Sprintf(drained+", "+ending, "cp-3"), "removed: cp-3", ""},
		"that is gone, all but its record": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.spoke.Nodes = slices.DeleteFunc(w.spoke.Nodes, func(n model.Node) bool { return n.Name == "worker-1" })
			delete(w.pods, "worker-1")
			return w
		}, "RemoveHost worker-1", "removed: worker-1", ""},
		"that the service has no record of": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.hosts = slices.DeleteFunc(w.hosts, func(h model.Host) bool { return h.Hostname == "worker-1" })
			return w
		}, fmt.Sprintf(drained+", DeleteNode %[1]s", "worker-1"), "removed: worker-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world()
			plan, err := w.settled()
			if err != nil || plan.Verdict != model.VerdictInstalled || plan.Fault != nil {
				t.Fatalf("%v, %s: %+v %+v", err, w.kinds(), plan.Blockers, plan.Waits)
			}
			if got := w.kinds(); got != test.wants {
				t.Errorf("did %s; want %s", got, test.wants)
			}
			said := plan.Message + " " + string(plan.Next)
			if !strings.Contains(said, test.says) || test.silent != "" && strings.Contains(said, test.silent) {
				t.Errorf("the end: %s", said)
			}
			w.memory, w.writes = model.Memory{}, nil
			if _, err := w.settled(); err != nil || len(w.writes) > 0 {
				t.Errorf("a second run: %v, %s", err, w.kinds())
			}
		})
	}
}

// TestRefusedRemovals is what forbids a removal, before anything is done.
func TestRefusedRemovals(t *testing.T) {
	for name, test := range map[string]struct {
		world  func() *shrinking
		reason string
		code   model.Code
		says   string
	}{
		"one of three": {func() *shrinking { return newShrinking(3, 2, true, "cp-0") }, "EtcdQuorum", model.CodeInput, "etcd would have 2 members, and needs 3"},
		"two of four":  {func() *shrinking { return newShrinking(4, 0, true, "cp-3", "cp-2") }, "EtcdQuorum", model.CodeInput, "without cp-3, cp-2 etcd would have 2 members"},
		"the only one": {func() *shrinking { return newShrinking(1, 2, false, "cp-0") }, "LastControlPlane", model.CodeInput, "the only node of the control plane"},
		"all of them":  {func() *shrinking { return newShrinking(3, 0, false, "cp-0", "cp-1", "cp-2") }, "LastControlPlane", model.CodeInput, "no node of the control plane would be left"},
		"the arbiter": {func() *shrinking {
			w := newShrinking(4, 0, false, "cp-3")
			w.node("cp-3").Roles = []string{"arbiter"}
			return w
		}, "LastArbiter", model.CodeInput, "is the arbiter"},
		"another member is ill": {func() *shrinking {
			w := newShrinking(4, 0, true, "cp-3")
			w.spoke.Etcd.Unhealthy = []string{"cp-1"}
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "the etcd member cp-1 is not healthy"},
		"another member has not started": {func() *shrinking {
			w := newShrinking(4, 0, true, "cp-3")
			w.spoke.Etcd.Unhealthy = []string{"192.168.127.11"}
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "the etcd member 192.168.127.11 is not healthy"},
		"another node is not Ready": {func() *shrinking {
			w := newShrinking(4, 0, true, "cp-3")
			w.node("cp-1").Ready = false
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "cp-1 is not Ready"},
		"another goes already": {func() *shrinking {
			w := newShrinking(5, 0, true, "cp-3")
			w.spoke.MachineOf("cp-1").Deleting = true
			return w
		}, "ControlPlaneNotWell", model.CodeInput, "the Machine m-cp-1 is being deleted"},
		"etcd does not answer": {func() *shrinking {
			w := newShrinking(4, 0, true, "cp-3")
			w.spoke.Etcd.Trouble = "etcdserver: request timed out"
			return w
		}, "EtcdUnknown", model.CodeInput, "request timed out"},
		"nobody knows it": {func() *shrinking { return newShrinking(3, 2, true, "worker-7") }, "UnknownNode", model.CodeNotFound, "neither the cluster nor the service has a node or host worker-7"},
		"a host that is no node yet": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.spoke.Nodes = w.spoke.Nodes[:4]
			w.hosts[4].State, w.hosts[4].Inventory.Interfaces = model.HostReady, nil
			return w
		}, "NoNode", model.CodeInput, "is no node of the cluster: it is ready"},
		"a host that installs": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.hosts[4].State, w.hosts[4].Status = model.HostInstalling, "installing-in-progress"
			return w
		}, "HostInstalls", model.CodeInput, "is being installed"},
		"a node of another name": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.node("worker-1").Name = "worker-1.lab.example.com"
			return w
		}, "NodeOfOtherName", model.CodeNotFound, "the node worker-1.lab.example.com has an address of that host"},
		"several of that name": {func() *shrinking {
			w := newShrinking(3, 2, false, "other")
			for i := range 2 {
				other := machine("other", "52:54:00:ff:ff:ff", 40+i)
				other.ID, other.Hostname, other.Inventory.Interfaces[0].MAC = fmt.Sprint("other-", i), "other", fmt.Sprintf("52:54:00:ff:ff:%02x", i)
				w.hosts = append(w.hosts, other)
			}
			return w
		}, "SeveralHosts", model.CodeNotFound, "other-0, other-1"},
		"DaemonSets": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.refused["worker-1"] = []model.DrainRefusal{
				{Reason: "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", Pods: []string{"dns/dns-1"}},
				{Reason: "Pods with local storage (use --delete-emptydir-data to override)", Pods: []string{"shop/cache"}},
			}
			return w
		}, "DrainRefused", model.CodeInput, "dns/dns-1; Pods with local storage (use --delete-emptydir-data to override): shop/cache"},
		"volumes that go with it": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.node("worker-1").Finalizers = []string{"topolvm.io/node"}
			w.spoke.Volumes = []model.LocalVolume{{Name: "pv-1", Node: "worker-1", Claim: "shop/db-data"}}
			return w
		}, "VolumesDeleted", model.CodeInput, "of shop/db-data"},
		"a set that follows hosts": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.spoke.MachineSets[0].FollowsHosts = true
			return w
		}, "MachineSetFollowsHosts", model.CodeInput, "cannot be lowered"},
		"a Machine of Cluster API": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.spoke.MachineOf("worker-1").Elsewhere = true
			return w
		}, "MachineElsewhere", model.CodeInput, "looked after by Cluster API"},
		"another cluster": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.spoke.API = "https://api.other.example.com:6443"
			return w
		}, "OtherCluster", model.CodeInput, "is of another cluster"},
		"credentials": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.spoke.Trouble, w.spoke.TroubleKind = "Unauthorized", model.SpokeCredentials
			return w
		}, "ClusterAccess", model.CodeAuth, "does not take the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world()
			plan := w.decide()
			if err := wellFormed(plan); err != nil {
				t.Fatal(err)
			}
			if len(plan.Actions) > 0 || !hasReason(plan, test.reason) || plan.Fault == nil || model.CodeOf(plan.Fault) != test.code {
				t.Fatalf("actions %v, blockers %+v, fault %v", keys(plan.Actions), plan.Blockers, plan.Fault)
			}
			if !strings.Contains(plan.Fault.Error(), test.says) || plan.Fault.Next == "" {
				t.Errorf("says %v; next %s", plan.Fault, plan.Fault.Next)
			}
		})
	}
}

// TestNothingBeginsBesideARefusal: where one of several nodes is refused, none begins; one that has
// begun goes on, and what is refused does not end its way.
func TestNothingBeginsBesideARefusal(t *testing.T) {
	w := newShrinking(3, 3, true, "worker-0", "worker-1")
	w.refused["worker-1"] = []model.DrainRefusal{{Reason: "Pods with local storage (use --delete-emptydir-data to override)", Pods: []string{"shop/cache"}}}
	if plan := w.decide(); len(plan.Actions) > 0 || model.CodeOf(plan.Fault) != model.CodeInput {
		t.Errorf("actions %v, fault %v", keys(plan.Actions), plan.Fault)
	}
	w.node("worker-0").Cordoned, w.node("worker-0").Leaving = true, true
	plan := w.decide()
	if strings.Join(keys(plan.Actions), " ") != "node/worker-0/evict" || plan.Fault != nil {
		t.Errorf("actions %v, fault %v", keys(plan.Actions), plan.Fault)
	}
	plan, err := w.settled()
	if err != nil || model.CodeOf(plan.Fault) != model.CodeInput || w.node("worker-0") != nil || w.node("worker-1") == nil || w.node("worker-1").Cordoned {
		t.Errorf("%v, %v, %s", err, plan.Fault, w.kinds())
	}
}

// TestWarningsOfRemoval is what a person is told before, and no more once it has begun.
func TestWarningsOfRemoval(t *testing.T) {
	w := newShrinking(3, 2, true, "worker-1")
	n := w.node("worker-1")
	n.Labels["cluster.ocs.openshift.io/openshift-storage"] = ""
	w.node("worker-0").Ready = false
	w.pods["worker-1"][0].Owner, w.pods["worker-1"][0].Local, w.pods["worker-1"][1].Budget = "", true, "db"
	w.spoke.Volumes = []model.LocalVolume{{Name: "pv", Node: "worker-1", Claim: "shop/data"}, {Name: "pv2", Node: "worker-0", Claim: "shop/other"}}
	w.spoke.Routers = []model.Router{{Controller: "default", Node: "worker-1", Ready: true}, {Controller: "default", Node: "worker-0"}}
	w.spoke.Pools[1].Paused = true
	w.spoke.VIPs = nil
	reasons := func() []string {
		var all []string
		for _, x := range w.decide().Warnings {
			if x.Message == "" || x.Key == "" || x.Scope != "node/worker-1" {
				t.Errorf("%+v", x)
			}
			all = append(all, x.Reason)
		}
		return all
	}
	want := []string{"LocalVolumes", "StorageNode", "PodsLost", "EmptyDirLost", "BudgetHolds", "RouterGoes", "OwnBalancer", "PoolPaused", "OthersNotReady", "KeepsRunning"}
	if got := reasons(); !slices.Equal(got, want) {
		t.Errorf("told %v; want %v", got, want)
	}
	if got := w.decide().Warnings[5].Message; !strings.Contains(got, "no other is ready") {
		t.Errorf("of the last router: %s", got)
	}
	n.Cordoned = true // by whoever
	w.memory = model.Memory{}
	if got := reasons(); !slices.Equal(got, want) {
		t.Errorf("of a cordoned node: %v", got)
	}
	n.Leaving = true
	w.memory = model.Memory{}
	if got := reasons(); !slices.Equal(got, want) {
		t.Errorf("when it is gone on with: %v", got)
	}
	w.at = w.at.Add(time.Second)
	if got := reasons(); len(got) > 0 {
		t.Errorf("once it has begun: %v", got)
	}
}

// TestLoweringOnce: a MachineSet is lowered for a Machine once, whoever looks, and only while it
// would give up that one.
func TestLoweringOnce(t *testing.T) {
	ready := func() *shrinking {
		w := newShrinking(3, 3, true, "worker-1")
		w.node("worker-1").Cordoned, w.node("worker-1").Leaving = true, true
		w.pods["worker-1"] = nil
		w.spoke.HostOfMetal("bmh-worker-1").Removes = "worker-1"
		m := w.spoke.MachineOf("worker-1")
		m.Removes, m.ToBeDeleted = "worker-1", true
		return w
	}
	for name, test := range map[string]struct {
		change func(w *shrinking, set *model.MachineSet)
		acts   string
		stuck  string
	}{
		"as it is":          {func(*shrinking, *model.MachineSet) {}, "node/worker-1/lower", ""},
		"lowered already":   {func(_ *shrinking, s *model.MachineSet) { s.Replicas, s.Lowered = 2, []string{"machine-worker-1"} }, "", "to give up the Machine m-worker-1"},
		"and raised again":  {func(_ *shrinking, s *model.MachineSet) { s.Lowered = []string{"machine-worker-1"} }, "", "MachineSetRaised"},
		"lowered by others": {func(_ *shrinking, s *model.MachineSet) { s.Replicas = 2 }, "", "it has 3"},
		"raised by others":  {func(_ *shrinking, s *model.MachineSet) { s.Replicas = 5 }, "", "it has 3"},
		"another is marked": {func(w *shrinking, _ *model.MachineSet) { w.spoke.MachineOf("worker-0").ToBeDeleted = true }, "", "OtherMachineFirst"},
		"another failed":    {func(w *shrinking, _ *model.MachineSet) { w.spoke.MachineOf("worker-0").Error = "no host" }, "", "OtherMachineFirst"},
		"not marked":        {func(w *shrinking, _ *model.MachineSet) { w.spoke.MachineOf("worker-1").ToBeDeleted = false }, "node/worker-1/mark-machine", ""},
		"a pod came": {func(w *shrinking, _ *model.MachineSet) {
			w.pods["worker-1"] = []model.Pod{{Namespace: "shop", Name: "late", UID: "late", Owner: "ReplicaSet/late"}}
		}, "node/worker-1/evict", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := ready()
			test.change(w, &w.spoke.MachineSets[0])
			plan := w.decide()
			if strings.Join(keys(plan.Actions), " ") != test.acts {
				t.Fatalf("actions %v", keys(plan.Actions))
			}
			waits := slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.Contains(x.For, test.stuck) })
			if test.stuck != "" && !waits && !hasReason(plan, test.stuck) {
				t.Errorf("waits %+v, blockers %+v", plan.Waits, plan.Blockers)
			}
		})
	}
}

// anyShrinking is some state in which nodes may be removed.
func anyShrinking(random *rand.Rand) *shrinking {
	machines := random.IntN(2) == 0
	w := newShrinking([]int{3, 4, 5}[random.IntN(3)], 2+random.IntN(3), machines)
	for i := range w.desired.Spec.Spec.Hosts {
		name := w.desired.Spec.Spec.Hosts[i].Name
		if random.IntN(3) == 0 {
			w.withBMC(name)
		}
		if random.IntN(3) == 0 && len(w.desired.Options.Remove.Nodes) < 3 {
			w.desired.Options.Remove.Nodes = append(w.desired.Options.Remove.Nodes, name)
		}
		if random.IntN(5) == 0 {
			w.node(name).Cordoned = true
		}
		if random.IntN(8) == 0 {
			w.node(name).Ready = false
		}
		if random.IntN(6) == 0 {
			w.held["shop/db-"+name] = true
		}
		if m := w.spoke.MachineOf(name); m != nil {
			if random.IntN(8) == 0 {
				m.ToBeDeleted = true
			}
			if random.IntN(10) == 0 {
				m.Error = "broken"
			}
		}
	}
	if random.IntN(4) == 0 {
		w.spoke.Etcd.Unhealthy = []string{fmt.Sprint("cp-", random.IntN(3))}
	}
	w.desired.Options.Remove.KeepRunning = random.IntN(4) == 0
	w.person = random.IntN(3) > 0
	return w
}

// TestConvergenceOfRemoval: from any state, killed at any time, nothing is done to a node that was
// not named, no MachineSet is lowered twice or gives up another Machine, etcd keeps its members,
// and a second run does nothing.
func TestConvergenceOfRemoval(t *testing.T) {
	exercised := map[model.Kind]int{}
	gone, kept := 0, 0
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 5))
		w := anyShrinking(random)
		if len(w.desired.Options.Remove.Nodes) == 0 {
			continue
		}
		w.lose = func(model.Action) bool { return random.IntN(6) == 0 }
		plan, err := w.settled()
		if err != nil {
			t.Fatalf("seed %d: %v; did %s", seed, err, w.kinds())
		}
		for _, a := range w.writes {
			exercised[a.Kind]++
		}
		w.lose, w.memory = nil, model.Memory{}
		for _, p := range w.pods { // else they are asked again and again, as they should be
			for i := range p {
				w.held[p[i].ID()] = false
			}
		}
		plan, err = w.settled()
		if err != nil {
			t.Fatalf("seed %d, again: %v; did %s", seed, err, w.kinds())
		}
		if plan.Verdict == model.VerdictInstalled {
			gone += len(plan.Removals)
		} else {
			kept++
		}
		w.writes, w.memory = nil, model.Memory{}
		if _, err := w.settled(); err != nil || len(w.writes) > 0 {
			t.Fatalf("seed %d: a second run does %s (%v)", seed, w.kinds(), err)
		}
		for i := range w.desired.Spec.Spec.Hosts {
			name := w.desired.Spec.Spec.Hosts[i].Name
			if !w.isNamed(name) && (w.node(name) == nil || w.power[name] != model.PowerIsOn) {
				t.Fatalf("seed %d: %s is gone, too", seed, name)
			}
		}
	}
	for _, kind := range []model.Kind{
		model.CordonNode, model.EvictPods, model.MarkMetalHost, model.MarkMachine, model.LowerMachineSet, model.DeleteMachine, model.DeleteMetalHost, model.DeleteNode, model.PowerOff, model.RemoveHost,
	} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
	if gone == 0 || kept == 0 {
		t.Errorf("%d nodes were removed, %d runs refused", gone, kept)
	}
}

// TestEndsOfRemoval are those of whole runs.
func TestEndsOfRemoval(t *testing.T) {
	for name, test := range map[string]struct {
		world func() *shrinking
		code  model.Code
		says  []string
		next  string
	}{
		"removed": {func() *shrinking { return newShrinking(3, 2, true, "worker-1") }, 0, nil, ""},
		"drained too slowly": {func() *shrinking {
			w := newShrinking(3, 2, true, "worker-1")
			w.held["shop/db-worker-1"] = true
			w.desired.Options.Remove.Drain.Timeout = 10 * time.Minute
			return w
		}, model.CodeTimeout, []string{"worker-1 was not drained in 10m0s", "shop/db-worker-1 is held by the budget db since 0"}, "kubectl uncordon worker-1"},
		"nobody removes the member": {
			func() *shrinking { return newShrinking(4, 0, false, "cp-3") }, model.CodeNeedsUser,
			[]string{"somebody to take the member a3 of cp-3 (192.168.127.13) out of etcd"}, "oc -n openshift-etcd rsh etcd-cp-0 etcdctl member remove a3",
		},
		"a BMC that does not answer": {func() *shrinking {
			w := newShrinking(3, 2, false, "worker-1")
			w.withBMC("worker-1")
			w.trouble["worker-1"] = "no route to host"
			return w
		}, model.CodeNeedsUser, []string{"worker-1 cannot be switched off: no route to host"}, "--keep-running"},
		"two, and one is held": {func() *shrinking {
			w := newShrinking(3, 3, true, "worker-1", "worker-2")
			w.held["shop/db-worker-1"] = true
			w.desired.Options.Remove.Drain.Timeout = 2 * time.Minute
			return w
		}, model.CodeTimeout, []string{"worker-1 was not drained in 2m0s"}, "kubectl uncordon worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := test.world()
				p := &shrinkingPlane{shrinking: w}
				result, err := install.New(p, install.WithNodes(shrinkingNodes{p}), install.WithMachines(shrinkingMachines{p}), install.WithTimeouts(0, time.Hour)).Run(t.Context(), w.desired)
				if result.ExitCode != int(test.code) {
					t.Fatalf("code %d: %v; did %s", result.ExitCode, err, w.kinds())
				}
				for _, text := range test.says {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("says %v; want %s", err, text)
					}
				}
				if next := model.NextOf(err).String(); !strings.Contains(next, test.next) {
					t.Errorf("next %s; want %s", next, test.next)
				}
				if name == "two, and one is held" && w.node("worker-2") != nil {
					t.Errorf("worker-2 is not removed: %s", w.kinds())
				}
			})
		})
	}
}

// TestControlPlaneGoesOneByOne: of two that are removed, the second begins once the first is gone.
func TestControlPlaneGoesOneByOne(t *testing.T) {
	w := newShrinking(5, 0, true, "cp-4", "cp-3")
	second := -1
	w.lose = func(model.Action) bool {
		if a := w.writes[len(w.writes)-1]; a.Node == "cp-3" && second < 0 {
			second = len(w.writes)
			if w.node("cp-4") != nil || w.spoke.MachineOf("cp-4") != nil || w.spoke.MemberOf([]netip.Addr{netip.MustParseAddr("192.168.127.14")}) != nil {
				t.Errorf("cp-3 begins while cp-4 is there: %s", w.kinds())
			}
		}
		return false
	}
	plan, err := w.settled()
	if err != nil || plan.Verdict != model.VerdictInstalled || second < 0 || len(w.spoke.Etcd.Members) != 3 {
		t.Errorf("%v, %s, %+v", err, w.kinds(), plan.Blockers)
	}
}

// TestRemovalIsToldBefore: what follows on a plan is what is then done.
func TestRemovalIsToldBefore(t *testing.T) {
	for _, machines := range []bool{false, true} {
		w := newShrinking(3, 2, machines, "worker-1")
		w.withBMC("worker-1")
		var told []string
		plan := w.decide()
		for _, a := range plan.Actions {
			told = append(told, string(a.Kind))
		}
		for _, s := range install.NewSnapshot(w.desired, w.observed()).Then(plan) {
			if s.Message == "" {
				t.Errorf("%+v", s)
			}
			told = append(told, string(s.Kind))
		}
		if _, err := w.settled(); err != nil {
			t.Fatal(err)
		}
		var did []string
		for _, a := range w.writes {
			if kind := string(a.Kind); kind != "MarkMachine" && !slices.Contains(did, kind) {
				did = append(did, kind)
			}
		}
		if machines { // its Machine takes the node along
			told = slices.DeleteFunc(told, func(kind string) bool { return kind == "DeleteNode" })
		}
		if !slices.Equal(told, did) {
			t.Errorf("told %v, did %v", told, did)
		}
	}
}

// shrinkingPlane is the model as a service plane. The planes of a run act side by side.
type shrinkingPlane struct {
	*shrinking
	mu sync.Mutex
}

func (p *shrinkingPlane) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = time.Now()
	if err := p.pass(); err != nil {
		return nil, err
	}
	o := p.observed()
	o.At, o.Spoke, o.Machines = time.Now(), nil, nil
	return o, nil
}

func (p *shrinkingPlane) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.apply(a)
}

func (p *shrinkingPlane) Credential(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("the service has none")
}

// shrinkingNodes is the nodes plane, shrinkingMachines the machines plane.
type (
	shrinkingNodes    struct{ *shrinkingPlane }
	shrinkingMachines struct{ *shrinkingPlane }
)

func (p shrinkingNodes) Observe(context.Context, *model.Desired, *model.Observed) (*model.Spoke, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observed().Spoke, nil
}

func (p shrinkingNodes) Act(ctx context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	return p.shrinkingPlane.Act(ctx, nil, a)
}

func (p shrinkingNodes) Changed() <-chan struct{} { return nil }

func (p shrinkingMachines) Observe(_ context.Context, _ *model.Desired, _ *model.Observed, ask []string) (map[string]model.MachineState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]model.MachineState{}
	for _, name := range ask {
		out[name] = model.MachineState{Power: p.power[name], Trouble: p.trouble[name]}
	}
	return out, nil
}

func (p shrinkingMachines) Act(ctx context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	return p.shrinkingPlane.Act(ctx, nil, a)
}
