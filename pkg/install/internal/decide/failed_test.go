package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestFailedWhileFinalizing names the operators that an install waited for to the end,
// where they were what it waited for.
func TestFailedWhileFinalizing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*decidetest.World)
		want   string
	}{
		"the controller said so": {
			func(w *decidetest.World) {
				w.Observed.Cluster.Progress.FinalizingSince = w.Observed.At.Add(-5 * time.Hour)
			},
			"the installation failed: out of time (console)",
		},
		"all nodes are done": {func(*decidetest.World) {}, "the installation failed: out of time (console)"},
		"a node is not done": {
			func(w *decidetest.World) {
				h := &w.Observed.Hosts[1]
				h.Progress.Stage, h.StatusInfo = "Joined", "its disk broke"
			},
			"the installation failed: out of time; cp-1: its disk broke",
		},
		"no node is known": {func(w *decidetest.World) { w.Observed.Hosts = nil }, "the installation failed: out of time"},
		"all operators are there": {
			func(w *decidetest.World) { w.Observed.Cluster.Operators[0].Status = "available" },
			"the installation failed: out of time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
			c := w.Observed.Cluster
			c.State, c.StatusInfo = model.ClusterFailed, "out of time"
			c.Operators = []model.Operator{{Name: "console", Builtin: true}, {Name: "dns", Builtin: true, Status: "available"}}
			for i := range w.Observed.Hosts {
				h := &w.Observed.Hosts[i]
				h.State, h.Progress.Stage, h.StatusInfo = model.HostFailed, "Done", "Host is part of a cluster that failed to install"
			}
			test.change(w)
			if plan := w.Decide(); plan.Verdict != model.VerdictFailed || plan.Message != test.want {
				t.Errorf("%s: %q, want %q", plan.Verdict, plan.Message, test.want)
			}
		})
	}
}

// What is advised after an install that failed or was cancelled is what the service does.
func TestAdviceAfterTheEnd(t *testing.T) {
	for _, state := range []model.ClusterState{model.ClusterFailed, model.ClusterCancelled} {
		for none, want := range map[bool]string{false: "oaictl reset cluster ", true: "oaictl delete cluster "} {
			w := decidetest.ReadyWorld(t, decidetest.Sample(1, 0))
			w.Observed.Cluster.State, w.Observed.Cluster.NoReset = state, none
			plan := decide.Decide(w.Desired, &w.Observed, model.Memory{}, w.Observed.At)
			if !strings.Contains(plan.Next.String(), want) || strings.Contains(plan.Next.String(), "reset cluster") == none {
				t.Errorf("%s, no reset %v: %s", state, none, plan.Next)
			}
		}
	}
}
