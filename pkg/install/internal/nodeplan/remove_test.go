package nodeplan_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestMain has garbage collected seldom. The clusters of these tests are small and many.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// TestOrderOfRemoval: what is done to a node of each kind, in which order, and that nothing is left to do then.
func TestOrderOfRemoval(t *testing.T) {
	const (
		drained = "CordonNode %[1]s, EvictPods %[1]s"
		ending  = "DeleteNode %[1]s, RemoveHost %[1]s"
	)
	for name, test := range map[string]struct {
		world  func() *decidetest.Shrinking
		wants  string
		says   string // of the end
		silent string // what the end does not say
	}{
		"a worker": {
			func() *decidetest.Shrinking { return decidetest.NewShrinking(3, 2, false, "worker-1") },
			fmt.Sprintf(drained+", "+ending, "worker-1"), "oaictl has not seen that worker-1 is off", "",
		},
		"with a BMC": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.WithBMC("worker-1")
			return w
		}, fmt.Sprintf(drained+", PowerOff %[1]s, "+ending, "worker-1"), "removed: worker-1", "is off"},
		"with a BMC, and kept running": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.WithBMC("worker-1")
			w.Desired.Options.Remove.KeepRunning = true
			return w
		}, fmt.Sprintf(drained+", "+ending, "worker-1"), "has not seen that worker-1 is off", ""},
		"with a Machine": {
			func() *decidetest.Shrinking { return decidetest.NewShrinking(3, 2, true, "worker-1") },
			fmt.Sprintf(drained+", MarkMetalHost bmh-%[1]s, MarkMachine m-%[1]s, LowerMachineSet workers, DeleteMetalHost bmh-%[1]s, RemoveHost %[1]s", "worker-1"), "removed: worker-1", "",
		},
		"with a Machine that no set made": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Spoke.MachineOf("worker-1").MachineSet = ""
			w.Spoke.MachineSets[0].Replicas = 1
			return w
		}, fmt.Sprintf(drained+", MarkMetalHost bmh-%[1]s, DeleteMachine m-%[1]s, DeleteMetalHost bmh-%[1]s, RemoveHost %[1]s", "worker-1"),
			"removed: worker-1", ""},
		"of the control plane, with a Machine": {
			func() *decidetest.Shrinking { return decidetest.NewShrinking(4, 0, true, "cp-3") },
			fmt.Sprintf(drained+", MarkMetalHost bmh-%[1]s, DeleteMachine m-%[1]s, DeleteMetalHost bmh-%[1]s, RemoveHost %[1]s", "cp-3"),
			"removed: cp-3", "",
		},
		"of the control plane, without": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(4, 0, false, "cp-3")
			w.Person = true
			return w
		}, fmt.Sprintf(drained+", "+ending, "cp-3"), "removed: cp-3", ""},
		"whose record says nothing of the machine": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Host("worker-1").Inventory = model.Inventory{}
			return w
		}, fmt.Sprintf(drained+", "+ending, "worker-1"), "removed: worker-1", ""},
		"that is gone, all but its record": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Spoke.Nodes = slices.DeleteFunc(w.Spoke.Nodes, func(n model.Node) bool { return n.Name == "worker-1" })
			delete(w.Pods, "worker-1")
			return w
		}, "RemoveHost worker-1", "removed: worker-1", ""},
		"that the service has no record of": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.Hosts = slices.DeleteFunc(w.Hosts, func(h model.Host) bool { return h.Hostname == "worker-1" })
			return w
		}, fmt.Sprintf(drained+", DeleteNode %[1]s", "worker-1"), "removed: worker-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world()
			plan, err := w.Settled()
			if err != nil || plan.Verdict != model.VerdictInstalled || plan.Fault != nil {
				t.Fatalf("%v, %s: %+v %+v", err, w.Kinds(), plan.Blockers, plan.Waits)
			}
			check.Equal(t, w.Kinds(), test.wants, "did")
			said := plan.Message + " " + string(plan.Next)
			if !strings.Contains(said, test.says) || test.silent != "" && strings.Contains(said, test.silent) {
				t.Errorf("the end: %s", said)
			}
			w.Memory, w.Writes = model.Memory{}, nil
			if _, err := w.Settled(); err != nil || len(w.Writes) > 0 {
				t.Errorf("a second run: %v, %s", err, w.Kinds())
			}
		})
	}
}

// anyShrinking is some state in which nodes may be removed.
func anyShrinking(random *rand.Rand) *decidetest.Shrinking {
	machines := random.IntN(2) == 0
	w := decidetest.NewShrinking([]int{3, 4, 5}[random.IntN(3)], 2+random.IntN(3), machines)
	for i := range w.Desired.Spec.Spec.Hosts {
		name := w.Desired.Spec.Spec.Hosts[i].Name
		if random.IntN(3) == 0 {
			w.WithBMC(name)
		}
		if random.IntN(3) == 0 && len(w.Desired.Options.Remove.Nodes) < 3 {
			w.Desired.Options.Remove.Nodes = append(w.Desired.Options.Remove.Nodes, name)
		}
		if random.IntN(5) == 0 {
			w.Node(name).Cordoned = true
		}
		if random.IntN(8) == 0 {
			w.Node(name).Ready = false
		}
		if random.IntN(6) == 0 {
			w.Held["shop/db-"+name] = true
		}
		if m := w.Spoke.MachineOf(name); m != nil {
			if random.IntN(8) == 0 {
				m.ToBeDeleted = true
			}
			if random.IntN(10) == 0 {
				m.Error = "broken"
			}
		}
	}
	if random.IntN(4) == 0 {
		w.Spoke.Etcd.Unhealthy = []string{fmt.Sprint("cp-", random.IntN(3))}
	}
	w.Desired.Options.Remove.KeepRunning = random.IntN(4) == 0
	w.Person = random.IntN(3) > 0
	return w
}

// TestConvergenceOfRemoval: from any state, killed at any time, nothing is done to a node that was
// not named, no MachineSet is lowered twice or gives up another Machine, etcd keeps its members,
// and a second run does nothing.
func TestConvergenceOfRemoval(t *testing.T) {
	t.Parallel()
	exercised := map[model.Kind]int{}
	gone, kept := 0, 0
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 5))
		w := anyShrinking(random)
		if len(w.Desired.Options.Remove.Nodes) == 0 {
			continue
		}
		w.Lose = func(model.Action) bool { return random.IntN(6) == 0 }
		plan, err := w.Settled()
		if err != nil {
			t.Fatalf("seed %d: %v; did %s", seed, err, w.Kinds())
		}
		for _, a := range w.Writes {
			exercised[a.Kind]++
		}
		w.Lose, w.Memory = nil, model.Memory{}
		for _, p := range w.Pods { // else they are asked again and again, as they should be
			for i := range p {
				w.Held[p[i].ID()] = false
			}
		}
		plan, err = w.Settled()
		if err != nil {
			t.Fatalf("seed %d, again: %v; did %s", seed, err, w.Kinds())
		}
		if plan.Verdict == model.VerdictInstalled {
			gone += len(plan.Removals)
		} else {
			kept++
		}
		w.Writes, w.Memory = nil, model.Memory{}
		if _, err := w.Settled(); err != nil || len(w.Writes) > 0 {
			t.Fatalf("seed %d: a second run does %s (%v)", seed, w.Kinds(), err)
		}
		for i := range w.Desired.Spec.Spec.Hosts {
			name := w.Desired.Spec.Spec.Hosts[i].Name
			if !w.IsNamed(name) && (w.Node(name) == nil || w.Power[name] != model.PowerIsOn) {
				t.Fatalf("seed %d: %s is gone, too", seed, name)
			}
		}
	}
	for _, kind := range []model.Kind{
		model.CordonNode, model.EvictPods, model.MarkMetalHost, model.MarkMachine, model.LowerMachineSet, model.DeleteMachine,
		model.DeleteMetalHost, model.DeleteNode, model.PowerOff, model.RemoveHost,
	} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
	if gone == 0 || kept == 0 {
		t.Errorf("%d nodes were removed, %d runs refused", gone, kept)
	}
}

// TestControlPlaneGoesOneByOne: of two that are removed, the second begins once the first is gone.
func TestControlPlaneGoesOneByOne(t *testing.T) {
	w := decidetest.NewShrinking(5, 0, true, "cp-4", "cp-3")
	second := -1
	w.Lose = func(model.Action) bool {
		if a := w.Writes[len(w.Writes)-1]; a.Node == "cp-3" && second < 0 {
			second = len(w.Writes)
			if w.Node("cp-4") != nil || w.Spoke.MachineOf("cp-4") != nil ||
				w.Spoke.MemberOf([]netip.Addr{netip.MustParseAddr("192.168.127.14")}) != nil {
				t.Errorf("cp-3 begins while cp-4 is there: %s", w.Kinds())
			}
		}
		return false
	}
	plan, err := w.Settled()
	if err != nil || plan.Verdict != model.VerdictInstalled || second < 0 || len(w.Spoke.Etcd.Members) != 3 {
		t.Errorf("%v, %s, %+v", err, w.Kinds(), plan.Blockers)
	}
}

// TestRemovalIsToldBefore: what follows on a plan is what is then done.
func TestRemovalIsToldBefore(t *testing.T) {
	for _, machines := range []bool{false, true} {
		w := decidetest.NewShrinking(3, 2, machines, "worker-1")
		w.WithBMC("worker-1")
		var told []string
		plan := w.Decide()
		for _, a := range plan.Actions {
			told = append(told, string(a.Kind))
		}
		for _, s := range decide.NewSnapshot(w.Desired, w.Observed()).Then(plan) {
			if s.Message == "" {
				t.Errorf("%+v", s)
			}
			told = append(told, string(s.Kind))
		}
		must.Get(w.Settled())(t)
		var did []string
		for _, a := range w.Writes {
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
