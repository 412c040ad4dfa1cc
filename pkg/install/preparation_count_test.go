package install_test

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestPreparationsAreCountedByEvents, so that runs that are broken off have no
// more tries together than one that is not.
func TestPreparationsAreCountedByEvents(t *testing.T) {
	const began = 60 // the run, in minutes
	for name, test := range map[string]struct {
		failed []int // minutes
		starts bool
	}{
		"never":                                 {starts: true},
		"twice in this run":                     {failed: []int{61, 62}, starts: true},
		"three times in this run":               {failed: []int{61, 62, 63}},
		"twice before it and once in it":        {failed: []int{40, 50, 61}},
		"once before it and once in it":         {failed: []int{50, 61}, starts: true},
		"twice before it":                       {failed: []int{40, 50}, starts: true},
		"three times before it, which was told": {failed: []int{30, 40, 50}, starts: true},
		"told, and twice in this run":           {failed: []int{30, 40, 50, 61, 62}, starts: true},
		"told, and three times in this run":     {failed: []int{30, 40, 50, 61, 62, 63}},
		"long ago and twice in this run":        {failed: []int{-100, 61, 62}, starts: true},
		"told long ago, once before, twice now": {failed: []int{-100, -90, -80, 50, 61, 62}},
		"four times in this run":                {failed: []int{61, 62, 63, 64}},
	} {
		w := readyWorld(t, sample(3, 0))
		w.memory.Began = start
		for _, minute := range test.failed {
			at := start.Add(time.Duration(minute) * time.Minute)
			w.observed.Cluster.Preparation.FailedAt = append(w.observed.Cluster.Preparation.FailedAt, at)
			if minute < began {
				w.memory.Failed = at
			}
		}
		w.observed.At = start.Add((began + 5) * time.Minute)
		plan := w.decide()
		if hasKind(plan, model.StartInstall) != test.starts || hasReason(plan, "PreparationFailed") == test.starts {
			t.Errorf("%s: actions %v, blockers %+v", name, keys(plan.Actions), plan.Blockers)
		}
	}
}

// TestHostsThatDidNotPrepare names hosts by what the service said of them where no
// check fails: one that took too long.
func TestHostsThatDidNotPrepare(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.memory.Began = start
	p := &w.observed.Cluster.Preparation
	for minute := range 3 {
		p.FailedAt = append(p.FailedAt, start.Add(time.Duration(minute+1)*time.Minute))
	}
	p.Hosts = map[string]string{w.observed.Hosts[1].ID: "container availability was not determined within the timeout."}
	w.observed.At = start.Add(4 * time.Minute)
	plan := w.decide()
	if len(plan.Actions) != 0 || len(plan.Blockers) != 1 || plan.Blockers[0].Cure != model.CurePerson ||
		plan.Blockers[0].Message != "the service cannot prepare the installation: cp-1: container availability was not determined within the timeout." {
		t.Errorf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
	if next := plan.Blockers[0].Remedy.String(); !strings.Contains(next, "tries again 10 minutes after the failure") || !strings.Contains(next, "create cluster -f FILE tries at once") {
		t.Errorf("when it is tried again: %s", next)
	}
	explained := decide.Explain(w.desired, &w.observed, "")
	if len(explained.Blockers) != 1 || !strings.HasSuffix(explained.Blockers[0].Remedy.String(), "create cluster -f FILE tries again at once") {
		t.Errorf("why: %+v", explained.Blockers)
	}
	w.observed.At = start.Add(14 * time.Minute) // somebody may have cured it
	if plan := w.decide(); !hasKind(plan, model.StartInstall) {
		t.Errorf("ten minutes later: actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
}

// TestNotWhileAHostIsUnprepared: a cluster that is ready again is not installed
// before each of its hosts is.
func TestNotWhileAHostIsUnprepared(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.observed.Hosts[2].State, w.observed.Hosts[2].Status = model.HostPreparing, "preparing-failed"
	plan := w.decide()
	if len(plan.Actions) != 0 || len(plan.Waits) == 0 || plan.Waits[0].Scope != model.HostScope("cp-2") {
		t.Errorf("actions %v, waits %+v", keys(plan.Actions), plan.Waits)
	}
}

// TestCancelOfAPreparation: what was cancelled before a run is for that run to
// install; a plan does not know of runs.
func TestCancelOfAPreparation(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.observed.Cluster.Preparation.Cancelled = start.Add(time.Minute)
	w.observed.At = start.Add(2 * time.Minute)
	if plan := w.decide(); !hasKind(plan, model.StartInstall) {
		t.Errorf("without a run: %+v", plan)
	}
	w.memory.Began = start
	if plan := w.decide(); plan.Verdict != model.VerdictCancelled || len(plan.Actions) != 0 || plan.Next == "" {
		t.Errorf("cancelled under a run: %+v", plan)
	}
}

// TestHubPreparesAgainByItself: the operator of a hub starts again the moment that the
// hosts are ready, so that the cause stands in the way at every other moment, too.
func TestHubPreparesAgainByItself(t *testing.T) {
	for name, test := range map[string]struct {
		cluster model.ClusterState
		host    model.HostState
		failed  int
		blocked bool
	}{
		"back from it, hosts are not":  {model.ClusterReady, model.HostPreparing, 3, true},
		"prepared once more":           {model.ClusterPreparing, model.HostPreparing, 3, true},
		"prepared after a failure":     {model.ClusterPreparing, model.HostPreparing, 1, false},
		"back from it the second time": {model.ClusterReady, model.HostPreparing, 2, false},
		"installed after all":          {model.ClusterInstalling, model.HostInstalling, 0, false},
	} {
		w := readyWorld(t, sample(3, 0))
		w.memory.Began = start
		c := w.observed.Cluster
		c.State, c.Released = test.cluster, true
		for i := range w.observed.Hosts {
			w.observed.Hosts[i].State = test.host
		}
		for minute := range test.failed {
			c.Preparation.FailedAt = append(c.Preparation.FailedAt, start.Add(time.Duration(minute+1)*time.Minute))
		}
		c.Preparation.Hosts = map[string]string{w.observed.Hosts[1].ID: "Host failed to prepare for installation due to following failing validation(s): Failed to fetch container images"}
		w.observed.At = start.Add(4 * time.Minute)
		plan := w.decide()
		if hasReason(plan, "PreparationFailed") != test.blocked || hasKind(plan, model.StartInstall) {
			t.Errorf("%s: actions %v, blockers %+v", name, keys(plan.Actions), plan.Blockers)
		}
		if test.blocked && plan.Blockers[0].Message != "the service cannot prepare the installation: cp-1: Failed to fetch container images" {
			t.Errorf("%s: %s", name, plan.Blockers[0].Message)
		}
		c.Released = false // a service that is asked for each attempt
		if plan := w.decide(); hasReason(plan, "PreparationFailed") {
			t.Errorf("%s, and nobody has asked for it: %+v", name, plan.Blockers)
		}
	}
}
