package nodeplan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// longInstalled is a cluster with hosts that were all there when it was installed, and with nodes that have lost what
// the file says of them.
func longInstalled(t *testing.T) *decidetest.World {
	t.Helper()
	w := decidetest.InstalledWithout(t, decidetest.Sample(3, 1), false)
	for range 12 { // until the host that was left out is added
		w.Absent, w.Desired.Options.AddNodes = "", true
		w.Rest(t)
		w.Pass()
	}
	w.Spoke = decidetest.NewSpoke()
	w.Observed.At = w.Observed.At.Add(30 * 24 * time.Hour)
	for i := range w.Observed.Hosts {
		w.Spoke.Seen.Nodes = append(w.Spoke.Seen.Nodes, model.Node{
			Name: w.Observed.Hosts[i].Hostname, UID: "node-" + w.Observed.Hosts[i].Hostname, Created: decidetest.Start(), Ready: true,
			ReadySince: decidetest.Start(),
			Config:     model.NodeConfig{Current: "rendered", Desired: "rendered", State: "Done"},
		})
	}
	for i := range w.Desired.Spec.Spec.Hosts {
		h := &w.Desired.Spec.Spec.Hosts[i]
		h.Labels = map[string]string{"rack": "a"}
		h.Taints = []spec.Taint{{Key: "slow", Effect: "PreferNoSchedule"}}
		h.ProviderID = "metal3://m/" + h.Name
	}
	w.Writes = nil
	return w
}

// TestMarksOfTheFirstNodes gives every node of an installed cluster what the file says of it,
// whenever its host was installed, and says nothing a second time.
func TestMarksOfTheFirstNodes(t *testing.T) {
	w := longInstalled(t)
	w.Rest(t)
	var marked []string
	for _, a := range w.Writes {
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
	w.Writes = nil
	if err := w.Settle(); err != nil || len(w.Writes) > 0 {
		t.Errorf("a second run writes %v (%v)", decidetest.Keys(w.Writes), err)
	}
	if plan := w.Decide(); plan.Verdict != model.VerdictInstalled || len(plan.Warnings) > 0 {
		t.Errorf("%+v", plan)
	}
}

// TestMarksHoldNothingUp: a node keeps the provider id that it has, a node that is not there holds nothing up, and what
// the cluster refuses is reported while all else goes on.
func TestMarksHoldNothingUp(t *testing.T) {
	w := longInstalled(t)
	node := func(name string) *model.Node { return w.Spoke.Seen.NodeByName(name) }
	node("cp-0").ProviderID = "another://cp-0"
	node("cp-1").Deleting = true
	node("cp-2").Name = "renamed"
	for _, a := range w.Decide().Actions {
		if a.Name == "worker-0" {
			w.Memory.Refused = map[string]model.Refusal{a.Key: {Inputs: a.Fingerprint(), Error: "nodes are read only"}}
		}
	}
	w.Rest(t)
	if got := decidetest.Keys(w.Writes); !slices.Equal(got, []string{"node/cp-0/update"}) {
		t.Fatalf("got %v", got)
	}
	if _, has := w.Writes[0].Settings[model.SettingProviderID]; has {
		t.Errorf("the provider id is given anew: %+v", w.Writes[0])
	}
	plan := w.Decide()
	var told []string
	for _, warning := range plan.Warnings {
		told = append(told, warning.Reason+": "+warning.Message)
	}
	want := []string{
		"Drift: the node cp-0 has the provider id another://cp-0, but the file has metal3://m/cp-0; the provider id of a node cannot be changed",
		"NodeNotMarked: the node worker-0 does not get the settings of the file: nodes are read only",
	}
	if diff := cmp.Diff(want, told); diff != "" || plan.Verdict != model.VerdictInstalled || len(plan.Blockers) > 0 {
		t.Errorf("%s\n%+v", diff, plan)
	}

	w.Desired.Spec.Host("worker-0").Labels["rack"] = "b" // which is worth another try
	if plan = w.Decide(); len(plan.Actions) != 1 || plan.Actions[0].Name != "worker-0" {
		t.Errorf("%+v", plan.Actions)
	}
}

// TestMarksAreTriedAgain: where no command is run again, what failed in passing is tried again soon, and what was
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
		w.Desired.Options.Unattended = true
		action := w.Decide().Actions[0]
		w.Memory.Note(action, &model.Fault{Permanent: test.permanent, Err: errors.New("no answer")}, w.Observed.At)
		w.Observed.At = w.Observed.At.Add(test.after)
		plan := w.Decide()
		if tried := slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Key == action.Key }); tried != test.tried {
			t.Errorf("%s: tried %v", name, tried)
		}
		if again := w.Memory.RefusalOf(plan); again == nil {
			t.Errorf("%s: nobody looks again", name)
		}
	}
}

// TestMarksOfTheClusterThatIsMeant: nothing is written to nodes of another cluster, to one
// that does not answer, nor where no nodes are to be added.
func TestMarksOfTheClusterThatIsMeant(t *testing.T) {
	for name, change := range map[string]func(w *decidetest.World){
		"another":    func(w *decidetest.World) { w.Spoke.Seen.ID = "another" },
		"silent":     func(w *decidetest.World) { w.Spoke.Seen.Trouble = "connection refused" },
		"not asked":  func(w *decidetest.World) { w.Spoke = nil },
		"an install": func(w *decidetest.World) { w.Desired.Options.AddNodes = false },
	} {
		w := longInstalled(t)
		w.Observed.Cluster.OpenShiftID = "cluster"
		w.Spoke.Seen.ID = "cluster"
		change(w)
		if plan := w.Decide(); len(plan.Actions) > 0 {
			t.Errorf("%s: writes %s", name, strings.Join(decidetest.Keys(plan.Actions), ", "))
		}
	}
}
