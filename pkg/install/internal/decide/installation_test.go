package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestFinalizingTakesLong has a service with soft time limits, which only says that a
// stage takes long: a user has to look, and the plan says at what.
func TestFinalizingTakesLong(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(1, 0))
	c := w.Observed.Cluster
	c.State = model.ClusterFinalizing
	c.Operators = []model.Operator{{Name: "console", Builtin: true, Status: "progressing"}}
	c.Progress = model.ClusterProgress{FinalizingStage: "Waiting for cluster operators",
		FinalizingSince: w.Observed.At.Add(-71 * time.Minute)}
	w.Observed.Hosts[0].State = model.HostInstalled
	if plan := w.Decide(); len(plan.Blockers) > 0 || len(plan.Waits) != 1 ||
		plan.Waits[0].For != "the cluster to finish: Waiting for cluster operators (console)" {
		t.Errorf("before: %+v %+v", plan.Waits, plan.Blockers)
	}
	c.Progress.FinalizingTimedOut = true
	plan := w.Decide()
	if len(plan.Blockers) != 1 || plan.Blockers[0].Reason != "FinalizingTimedOut" ||
		!strings.HasPrefix(plan.Blockers[0].Message, "Waiting for cluster operators (console) takes longer") {
		t.Errorf("after: %+v", plan.Blockers)
	}
}
