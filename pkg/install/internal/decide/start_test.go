package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func actionOf(t *testing.T, plan model.Plan, kind model.Kind) model.Action {
	t.Helper()
	i := slices.IndexFunc(plan.Actions, func(a model.Action) bool { return a.Kind == kind })
	if i < 0 {
		t.Fatalf("no %s in %v; waits %+v, blockers %+v", kind, decidetest.Keys(plan.Actions), plan.Waits, plan.Blockers)
	}
	return plan.Actions[i]
}

// A held start is a wait, with the name of the client that holds it.
func TestHold(t *testing.T) {
	for name, test := range map[string]struct {
		file  bool
		other string
		keys  []string
	}{
		"no consumer":    {},
		"the file":       {file: true, keys: []string{"cluster/hold"}},
		"another client": {other: "argocd", keys: []string{"cluster/hold/other"}},
		"both":           {file: true, other: "argocd", keys: []string{"cluster/hold", "cluster/hold/other"}},
	} {
		c := decidetest.Sample(3, 0)
		w := decidetest.ReadyWorld(t, c)
		c.Spec.Hold, w.Observed.Cluster.Hold, w.Observed.Cluster.Unhold = test.file, test.other, "kubectl patch x"
		plan := w.Decide()
		var held []string
		for _, x := range plan.Waits {
			held = append(held, x.Key)
			if x.Who != model.WhoUser || test.other != "" && x.Key != "cluster/hold" &&
				(!strings.Contains(x.For, test.other) || x.Next != "kubectl patch x") {
				t.Errorf("%s: waits %+v", name, x)
			}
		}
		if diff := cmp.Diff(test.keys, held); diff != "" || decidetest.HasKind(plan, model.StartInstall) != (test.keys == nil) {
			t.Errorf("%s: actions %v, waits %s", name, decidetest.Keys(plan.Actions), diff)
		}
	}
}

// What is counted at the start is what is there.
func TestCountsAtTheStart(t *testing.T) {
	for name, test := range map[string]struct {
		controlPlane, workers int
		missing, strangers    int
		want                  string
	}{
		"all": {controlPlane: 3, workers: 2,
			want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:3 spec.topology.workers:2]"},
		"a worker is missing": {controlPlane: 3, workers: 2, missing: 1,
			want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:3 spec.topology.workers:1]"},
		"single node": {controlPlane: 1,
			want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:1 spec.topology.workers:0]"},
		"accepted, not counted": {controlPlane: 3, workers: 1, strangers: 2,
			want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:3 spec.topology.workers:3]"},
	} {
		c := decidetest.Sample(test.controlPlane, test.workers)
		w := decidetest.ReadyHub(t, c)
		if test.missing > 0 {
			none := 0
			c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(time.Minute)}
			w.Observed.Hosts = w.Observed.Hosts[:len(w.Observed.Hosts)-test.missing]
			w.Observed.At = w.Observed.At.Add(time.Hour)
		}
		for i := range test.strangers {
			c.Spec.AcceptUnknownHosts = true
			*c.Spec.Topology.Workers++
			stranger := decidetest.Machine("stranger"+string(rune('0'+i)), "52:54:00:ff:ff:0"+string(rune('0'+i)), 90+i)
			stranger.State, stranger.Settings[model.SettingApproved] = model.HostReady, model.ValueOf(true)
			stranger.Registered = w.Observed.At
			w.Observed.Hosts = append(w.Observed.Hosts, stranger)
		}
		check.Equal(t, values(actionOf(t, w.Decide(), model.StartInstall).Settings), test.want, name)
	}
}

// A service that has the order to start does not get it again; if it does not notice that it can start, it is woken,
// but not at once.
func TestReleasedAndStalled(t *testing.T) {
	for name, test := range map[string]struct {
		released bool
		stalled  time.Duration // how long; 0: not at all
		workers  int           // that the service waits for
		want     model.Kind    // "": a wait
	}{
		"not released":                    {workers: 1, want: model.StartInstall},
		"released":                        {released: true, workers: 1},
		"released, for a worker too many": {released: true, workers: 2, want: model.StartInstall},
		"stalled just now":                {released: true, stalled: 29 * time.Second, workers: 1},
		"stalled":                         {released: true, stalled: 30 * time.Second, workers: 1, want: model.NudgeCluster},
		"stalled, and nothing else said":  {stalled: time.Hour, workers: 1, want: model.NudgeCluster},
	} {
		w := decidetest.ReadyHub(t, decidetest.Sample(3, 1))
		w.Observed.Cluster.Released = test.released
		w.Observed.Cluster.Settings[model.SettingWorkers] = model.ValueOf(test.workers)
		if test.stalled > 0 {
			w.Observed.Cluster.Stalled = w.Observed.At.Add(-test.stalled)
		}
		plan := w.Decide()
		switch {
		case test.want == "" && (len(plan.Actions) > 0 || len(plan.Waits) != 1 || plan.Waits[0].Who != model.WhoService):
			t.Errorf("%s: actions %v, waits %+v", name, decidetest.Keys(plan.Actions), plan.Waits)
		case test.want != "" && (len(plan.Actions) != 1 || plan.Actions[0].Kind != test.want):
			t.Errorf("%s: actions %v, waits %+v", name, decidetest.Keys(plan.Actions), plan.Waits)
		}
	}
}

// TestPreparationsAreCountedByEvents, so that several interrupted runs have no more tries together than one run that is
// not interrupted.
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
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		w.Memory.Began = decidetest.Start()
		for _, minute := range test.failed {
			at := decidetest.Start().Add(time.Duration(minute) * time.Minute)
			w.Observed.Cluster.Preparation.FailedAt = append(w.Observed.Cluster.Preparation.FailedAt, at)
			if minute < began {
				w.Memory.Failed = at
			}
		}
		w.Observed.At = decidetest.Start().Add((began + 5) * time.Minute)
		plan := w.Decide()
		if decidetest.HasKind(plan, model.StartInstall) != test.starts || decidetest.HasReason(plan, "PreparationFailed") == test.starts {
			t.Errorf("%s: actions %v, blockers %+v", name, decidetest.Keys(plan.Actions), plan.Blockers)
		}
	}
}

// TestHostsThatDidNotPrepare names hosts by what the service said of them where no
// check fails: one that took too long.
func TestHostsThatDidNotPrepare(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Memory.Began = decidetest.Start()
	p := &w.Observed.Cluster.Preparation
	for minute := range 3 {
		p.FailedAt = append(p.FailedAt, decidetest.Start().Add(time.Duration(minute+1)*time.Minute))
	}
	p.Hosts = map[string]string{w.Observed.Hosts[1].ID: "container availability was not determined within the timeout."}
	w.Observed.At = decidetest.Start().Add(4 * time.Minute)
	plan := w.Decide()
	if len(plan.Actions) != 0 || len(plan.Blockers) != 1 || plan.Blockers[0].Cure != model.CurePerson ||
		plan.Blockers[0].Message != "the service cannot prepare the installation: cp-1: container availability was not determined within the timeout." {
		t.Errorf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
	if next := plan.Blockers[0].Remedy.String(); !strings.Contains(next, "tries again 10 minutes after the failure") ||
		!strings.Contains(next, "to try at once, stop it and run") {
		t.Errorf("when it is tried again: %s", next)
	}
	explained := decide.Explain(w.Desired, &w.Observed, "")
	if len(explained.Blockers) != 1 || !strings.HasSuffix(explained.Blockers[0].Remedy.String(),
		"create cluster -f FILE tries again at once") {
		t.Errorf("why: %+v", explained.Blockers)
	}
	w.Observed.At = decidetest.Start().Add(14 * time.Minute) // a user may have cured it
	if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("ten minutes later: actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
	}
}

// TestNotWhileAHostIsUnprepared: a cluster that is ready again is not installed
// before each of its hosts is.
func TestNotWhileAHostIsUnprepared(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Observed.Hosts[2].State, w.Observed.Hosts[2].Status = model.HostPreparing, "preparing-failed"
	plan := w.Decide()
	if len(plan.Actions) != 0 || len(plan.Waits) == 0 || plan.Waits[0].Scope != model.ScopeHost.Of("cp-2") {
		t.Errorf("actions %v, waits %+v", decidetest.Keys(plan.Actions), plan.Waits)
	}
}

// TestCancelOfAPreparation: what was cancelled before a run is for that run to
// install; a plan does not know of runs.
func TestCancelOfAPreparation(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Observed.Cluster.Preparation.Cancelled = decidetest.Start().Add(time.Minute)
	w.Observed.At = decidetest.Start().Add(2 * time.Minute)
	if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("without a run: %+v", plan)
	}
	w.Memory.Began = decidetest.Start()
	if plan := w.Decide(); plan.Verdict != model.VerdictCancelled || len(plan.Actions) != 0 || plan.Next == "" {
		t.Errorf("cancelled under a run: %+v", plan)
	}
}

// TestHubPreparesAgainByItself: the operator of a hub starts again the moment that the hosts are ready, so that the
// cause is a blocker at every other moment, too.
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
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		w.Memory.Began = decidetest.Start()
		c := w.Observed.Cluster
		c.State, c.Released = test.cluster, true
		for i := range w.Observed.Hosts {
			w.Observed.Hosts[i].State = test.host
		}
		for minute := range test.failed {
			c.Preparation.FailedAt = append(c.Preparation.FailedAt, decidetest.Start().Add(time.Duration(minute+1)*time.Minute))
		}
		c.Preparation.Hosts = map[string]string{w.Observed.Hosts[1].ID: "Host failed to prepare for installation due to following failing validation(s): Failed to fetch container images"}
		w.Observed.At = decidetest.Start().Add(4 * time.Minute)
		plan := w.Decide()
		if decidetest.HasReason(plan, "PreparationFailed") != test.blocked || decidetest.HasKind(plan, model.StartInstall) {
			t.Errorf("%s: actions %v, blockers %+v", name, decidetest.Keys(plan.Actions), plan.Blockers)
		}
		if test.blocked && plan.Blockers[0].Message != "the service cannot prepare the installation: cp-1: Failed to fetch container images" {
			t.Errorf("%s: %s", name, plan.Blockers[0].Message)
		}
		c.Released = false // a service that is asked for each attempt
		if plan := w.Decide(); decidetest.HasReason(plan, "PreparationFailed") {
			t.Errorf("%s, and nobody has asked for it: %+v", name, plan.Blockers)
		}
	}
}

func TestOptionalWorkersDoNotHoldTheOthers(t *testing.T) {
	c := decidetest.Sample(3, 2)
	one := 1
	c.Spec.Topology.Required = spec.Required{Workers: &one, Within: spec.Duration(30 * time.Minute)}
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	started := time.Time{}
	for range 60 {
		w.Rest(t)
		w.Pass()
		// The last worker never comes.
		w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-1" })
		cluster := w.Observed.Cluster
		if cluster != nil && cluster.State == model.ClusterDiscovering && len(w.Observed.Hosts) == 4 &&
			w.Observed.Hosts[3].State == model.HostReady {
			cluster.State = model.ClusterReady
		}
		if cluster != nil && started.IsZero() {
			started = cluster.InstallStarted
		}
	}
	plan := w.Decide()
	if plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Missing, []string{"worker-1"}) {
		t.Errorf("verdict %s (%s), missing %v", plan.Verdict, plan.Message, plan.Missing)
	}
	if waited := started.Sub(decidetest.Start()); waited < 30*time.Minute {
		t.Errorf("the install was started after %s, without waiting for the other worker", waited)
	}
}
