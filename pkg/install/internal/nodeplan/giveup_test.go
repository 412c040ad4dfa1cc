package nodeplan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestAnotherWasGivenUp: a MachineSet that gave up another Machine is not lowered again.
func TestAnotherWasGivenUp(t *testing.T) {
	w := decidetest.NewShrinking(3, 3, true, "worker-1")
	if plan := w.Decide(); nodeplan.GiveUp(w.Observed(), &plan) != "" {
		t.Errorf("nothing has begun: %s", nodeplan.GiveUp(w.Observed(), &plan))
	}
	for len(w.Spoke.MachineSets[0].Lowered) == 0 {
		for _, a := range w.Decide().Actions {
			must.Do(t, w.Apply(a))
			w.Memory.Note(a, nil, w.At)
		}
		if len(w.Spoke.MachineSets[0].Lowered) == 0 {
			must.Do(t, w.Pass())
		}
	}
	if next := w.Decide().Next.String(); strings.Contains(next, "uncordon") {
		t.Errorf("what is given up cannot be kept: %s", next)
	}
	w.Spoke.MachineOf("worker-2").Deleting = true
	plan := w.Decide()
	if len(plan.Actions) > 0 || !decidetest.HasReason(plan, "MachineSetRaised") ||
		strings.Contains(plan.Blockers[0].Remedy.String(), "scale") {
		t.Errorf("%v, %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
}

// TestLoweringOnce: a MachineSet is lowered for a Machine once, by all looks together, and only while it
// would give up that one.
func TestLoweringOnce(t *testing.T) {
	ready := func() *decidetest.Shrinking {
		w := decidetest.NewShrinking(3, 3, true, "worker-1")
		w.Node("worker-1").Cordoned, w.Node("worker-1").Leaving = true, true
		w.Pods["worker-1"] = nil
		w.Spoke.HostOfMetal("bmh-worker-1").Removes = "worker-1"
		m := w.Spoke.MachineOf("worker-1")
		m.Removes, m.ToBeDeleted = "worker-1", true
		return w
	}
	for name, test := range map[string]struct {
		change func(w *decidetest.Shrinking, set *model.MachineSet)
		acts   string
		stuck  string
	}{
		"as it is": {func(*decidetest.Shrinking, *model.MachineSet) {}, "node/worker-1/lower", ""},
		"lowered already": {func(_ *decidetest.Shrinking, s *model.MachineSet) {
			s.Replicas, s.Lowered = 2, []string{"machine-worker-1"}
		}, "", "to delete the Machine m-worker-1"},
		"and raised again": {func(_ *decidetest.Shrinking, s *model.MachineSet) {
			s.Lowered = []string{"machine-worker-1"}
		}, "", "MachineSetRaised"},
		"lowered by others": {func(_ *decidetest.Shrinking, s *model.MachineSet) { s.Replicas = 2 }, "", "it has 3"},
		"raised by others":  {func(_ *decidetest.Shrinking, s *model.MachineSet) { s.Replicas = 5 }, "", "it has 3"},
		"another is marked": {func(w *decidetest.Shrinking, _ *model.MachineSet) {
			w.Spoke.MachineOf("worker-0").ToBeDeleted = true
		}, "", "OtherMachineFirst"},
		"another failed": {func(w *decidetest.Shrinking, _ *model.MachineSet) {
			w.Spoke.MachineOf("worker-0").Error = "no host"
		}, "", "OtherMachineFirst"},
		"not marked": {func(w *decidetest.Shrinking, _ *model.MachineSet) {
			w.Spoke.MachineOf("worker-1").ToBeDeleted = false
		}, "node/worker-1/mark-machine", ""},
		"a pod came": {func(w *decidetest.Shrinking, _ *model.MachineSet) {
			w.Pods["worker-1"] = []model.Pod{{Namespace: "shop", Name: "late", UID: "late", Owner: "ReplicaSet/late"}}
		}, "node/worker-1/evict", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := ready()
			test.change(w, &w.Spoke.MachineSets[0])
			plan := w.Decide()
			if strings.Join(decidetest.Keys(plan.Actions), " ") != test.acts {
				t.Fatalf("actions %v", decidetest.Keys(plan.Actions))
			}
			waits := slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.Contains(x.For, test.stuck) })
			if test.stuck != "" && !waits && !decidetest.HasReason(plan, test.stuck) {
				t.Errorf("waits %+v, blockers %+v", plan.Waits, plan.Blockers)
			}
		})
	}
}
