package install_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// longInstalled is a cluster whose hosts were all there from its install on, and whose nodes
// have lost what the file says of them.
func longInstalled(t *testing.T) *world {
	t.Helper()
	w := installedWithout(t, sample(3, 1), false)
	for range 12 { // until the host that was left out is added
		w.absent, w.desired.Options.AddNodes = "", true
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	w.spoke = newSpokeModel()
	w.observed.At = w.observed.At.Add(30 * 24 * time.Hour)
	for i := range w.observed.Hosts {
		w.spoke.seen.Nodes = append(w.spoke.seen.Nodes, model.Node{
			Name: w.observed.Hosts[i].Hostname, UID: "node-" + w.observed.Hosts[i].Hostname, Created: start, Ready: true, ReadySince: start,
			Config: model.NodeConfig{Current: "rendered", Desired: "rendered", State: "Done"},
		})
	}
	for i := range w.desired.Spec.Spec.Hosts {
		h := &w.desired.Spec.Spec.Hosts[i]
		h.Labels = map[string]string{"rack": "a"}
		h.Taints = []spec.Taint{{Key: "slow", Effect: "PreferNoSchedule"}}
		h.ProviderID = "metal3://m/" + h.Name
	}
	w.writes = nil
	return w
}

// TestMarksOfTheFirstNodes gives every node of an installed cluster what the file says of it,
// whenever its host was installed, and says nothing a second time.
func TestMarksOfTheFirstNodes(t *testing.T) {
	w := longInstalled(t)
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	var marked []string
	for _, a := range w.writes {
		host := a.Scope.Host()
		want := model.Settings{
			model.SettingLabels:     model.ValueOf(map[string]string{"rack": "a"}),
			model.SettingTaints:     model.ValueOf([]spec.Taint{{Key: "slow", Effect: "PreferNoSchedule"}}),
			model.SettingProviderID: model.ValueOf("metal3://m/" + host),
		}
		if diff := cmp.Diff(want, a.Settings); a.Kind != model.UpdateNode || diff != "" {
			t.Errorf("%s: %s\n%s", a.Key, a.Kind, diff)
		}
		marked = append(marked, a.Name)
	}
	if want := []string{"cp-0", "cp-1", "cp-2", "worker-0"}; !slices.Equal(marked, want) {
		t.Errorf("nodes %v are given something, not %v", marked, want)
	}
	w.writes = nil
	if err := settle(w); err != nil || len(w.writes) > 0 {
		t.Errorf("a second run writes %v (%v)", keys(w.writes), err)
	}
	if plan := w.decide(); plan.Verdict != model.VerdictInstalled || len(plan.Warnings) > 0 {
		t.Errorf("%+v", plan)
	}
}

// TestMarksHoldNothingUp: a node keeps the provider id that it has, one that is not there is
// nobody's concern, and what the cluster refuses is told while all else goes on.
func TestMarksHoldNothingUp(t *testing.T) {
	w := longInstalled(t)
	node := func(name string) *model.Node { return w.spoke.seen.NodeByName(name) }
	node("cp-0").ProviderID = "another://cp-0"
	node("cp-1").Deleting = true
	node("cp-2").Name = "renamed"
	for _, a := range w.decide().Actions {
		if a.Name == "worker-0" {
			w.memory.Refused = map[string]model.Refusal{a.Key: {Inputs: a.Fingerprint(), Error: "nodes are read only"}}
		}
	}
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	if got := keys(w.writes); !slices.Equal(got, []string{"node/cp-0/update"}) {
		t.Fatalf("got %v", got)
	}
	if _, has := w.writes[0].Settings[model.SettingProviderID]; has {
		t.Errorf("the provider id is given anew: %+v", w.writes[0])
	}
	plan := w.decide()
	var told []string
	for _, warning := range plan.Warnings {
		told = append(told, warning.Reason+": "+warning.Message)
	}
	want := []string{
		"Drift: the node cp-0 has the provider id another://cp-0, and the file says metal3://m/cp-0; a node keeps the one that it has",
		"NodeNotMarked: the node worker-0 is not given what the file says of it: nodes are read only",
	}
	if diff := cmp.Diff(want, told); diff != "" || plan.Verdict != model.VerdictInstalled || len(plan.Blockers) > 0 {
		t.Errorf("%s\n%+v", diff, plan)
	}

	w.desired.Spec.Host("worker-0").Labels["rack"] = "b" // which is worth another try
	if plan = w.decide(); len(plan.Actions) != 1 || plan.Actions[0].Name != "worker-0" {
		t.Errorf("%+v", plan.Actions)
	}
}

// TestMarksAreTriedAgain: where nobody runs a command again, what failed in passing is tried again soon, and what was
// refused for good after a while.
func TestMarksAreTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		permanent bool
		after     time.Duration // of the refusal
		tried     bool
	}{
		"in passing, now":   {false, time.Second, false},
		"in passing, soon":  {false, 2 * time.Minute, true},
		"for good, soon":    {true, 2 * time.Minute, false},
		"for good, a while": {true, 11 * time.Minute, true},
	} {
		w := longInstalled(t)
		w.desired.Options.Unattended = true
		action := w.decide().Actions[0]
		w.memory.Note(action, &model.Fault{Permanent: test.permanent, Err: errors.New("no answer")}, w.observed.At)
		w.observed.At = w.observed.At.Add(test.after)
		plan := w.decide()
		if tried := slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Key == action.Key }); tried != test.tried {
			t.Errorf("%s: tried %v", name, tried)
		}
		if again := w.memory.RefusalOf(plan); again == nil {
			t.Errorf("%s: nobody looks again", name)
		}
	}
}

// TestMarksOfTheClusterThatIsMeant: nothing is written to nodes of another cluster, to one
// that does not answer, nor where no nodes are to be added.
func TestMarksOfTheClusterThatIsMeant(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"another":    func(w *world) { w.spoke.seen.ID = "another" },
		"silent":     func(w *world) { w.spoke.seen.Trouble = "connection refused" },
		"not asked":  func(w *world) { w.spoke = nil },
		"an install": func(w *world) { w.desired.Options.AddNodes = false },
	} {
		w := longInstalled(t)
		w.observed.Cluster.OpenShiftID = "cluster"
		w.spoke.seen.ID = "cluster"
		change(w)
		if plan := w.decide(); len(plan.Actions) > 0 {
			t.Errorf("%s: writes %s", name, strings.Join(keys(plan.Actions), ", "))
		}
	}
}
