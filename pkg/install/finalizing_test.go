package install_test

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestFailedWhileFinalizing names the operators that an install waited for to the end,
// where they were what it waited for.
func TestFailedWhileFinalizing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		want   string
	}{
		"the controller said so": {
			func(w *world) { w.observed.Cluster.Progress.FinalizingSince = w.observed.At.Add(-5 * time.Hour) },
			"the installation failed: out of time (console)",
		},
		"all nodes are done": {func(*world) {}, "the installation failed: out of time (console)"},
		"a node is not done": {
			func(w *world) {
				h := &w.observed.Hosts[1]
				h.Progress.Stage, h.StatusInfo = "Joined", "its disk broke"
			},
			"the installation failed: out of time; cp-1: its disk broke",
		},
		"no node is known": {func(w *world) { w.observed.Hosts = nil }, "the installation failed: out of time"},
		"all operators are there": {
			func(w *world) { w.observed.Cluster.Operators[0].Status = "available" },
			"the installation failed: out of time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := readyWorld(t, sample(3, 0))
			c := w.observed.Cluster
			c.State, c.StatusInfo = model.ClusterFailed, "out of time"
			c.Operators = []model.Operator{{Name: "console", Builtin: true}, {Name: "dns", Builtin: true, Status: "available"}}
			for i := range w.observed.Hosts {
				h := &w.observed.Hosts[i]
				h.State, h.Progress.Stage, h.StatusInfo = model.HostFailed, "Done", "Host is part of a cluster that failed to install"
			}
			test.change(w)
			if plan := w.decide(); plan.Verdict != model.VerdictFailed || plan.Message != test.want {
				t.Errorf("%s: %q, want %q", plan.Verdict, plan.Message, test.want)
			}
		})
	}
}

// TestFinalizingTakesLong has a service with soft time limits, which only says that a
// stage takes long: somebody has to look, and is told at what.
func TestFinalizingTakesLong(t *testing.T) {
	w := readyWorld(t, sample(1, 0))
	c := w.observed.Cluster
	c.State = model.ClusterFinalizing
	c.Operators = []model.Operator{{Name: "console", Builtin: true, Status: "progressing"}}
	c.Progress = model.ClusterProgress{FinalizingStage: "Waiting for cluster operators", FinalizingSince: w.observed.At.Add(-71 * time.Minute)}
	w.observed.Hosts[0].State = model.HostInstalled
	if plan := w.decide(); len(plan.Blockers) > 0 || len(plan.Waits) != 1 || plan.Waits[0].For != "the cluster to finish: Waiting for cluster operators (console)" {
		t.Errorf("before: %+v %+v", plan.Waits, plan.Blockers)
	}
	c.Progress.FinalizingTimedOut = true
	plan := w.decide()
	if len(plan.Blockers) != 1 || plan.Blockers[0].Reason != "FinalizingTimedOut" || !strings.HasPrefix(plan.Blockers[0].Message, "Waiting for cluster operators (console) has taken longer") {
		t.Errorf("after: %+v", plan.Blockers)
	}
}
