package decide_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestConvergenceOfMachines holds the promise of convergence for machines with
// BMCs: from any state it comes to rest, nothing is switched off that was not
// allowed to be, no image is ejected before its host reboots, and a second run
// writes nothing. The model refuses what must not be asked for.
func TestConvergenceOfMachines(t *testing.T) {
	t.Parallel()
	exercised := map[model.Kind]int{}
	for seed := range uint64(750) {
		r := anyRack(rand.New(rand.NewPCG(seed, 3)))
		if err := r.Settle(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 20 {
			r.Pass()
			if err := r.Settle(); err != nil {
				t.Fatalf("seed %d, later: %v", seed, err)
			}
		}
		for name, x := range r.Boxes {
			if x.Again {
				t.Fatalf("seed %d: %s boots the image once more, and not its disk", seed, name)
			}
		}
		for _, a := range r.Writes {
			exercised[a.Kind]++
		}
		r.Writes = nil
		if err := r.Settle(); err != nil || len(r.Writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, decidetest.Keys(r.Writes), err)
		}
		if state := r.Observed.Cluster; state == nil || state.State != model.ClusterInstalled {
			continue
		}
		for name, x := range r.Boxes {
			if x.Media == decidetest.ImageOf(name) {
				t.Fatalf("seed %d: the image of %s is in its drive after the installation", seed, name)
			}
		}
	}
	for _, kind := range []model.Kind{
		model.InsertMedia, model.SetBootOnce, model.PowerOn, model.PowerOff, model.EjectMedia, model.RestoreBoot, model.StartInstall,
	} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
}

// TestBootSteps walks one machine from off to its registration.
func TestBootSteps(t *testing.T) {
	r := decidetest.ReadyRack(t, 1, 0)
	var steps []string
	for range 10 {
		plan, _, err := r.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Actions) == 0 {
			break
		}
		for _, a := range plan.Actions {
			if a.Scope != "host/cp-0" || a.Destructive {
				t.Errorf("%s: scope %s, destructive %v", a.Kind, a.Scope, a.Destructive)
			}
			steps = append(steps, string(a.Kind))
			must.Do(t, r.Tell(a))
		}
	}
	check.Equal(t, strings.Join(steps, " "), "InsertMedia SetBootOnce PowerOn", "steps")
	plan, _, _ := r.Plan()
	if len(plan.Waits) != 1 || plan.Waits[0].Who != model.WhoMachine ||
		!strings.Contains(plan.Waits[0].For, "cp-0 to register: the BMC is reached, the image is inserted, 1073 MB of 1073 MB fetched, the agent has not called yet") {
		t.Errorf("waits: %+v", plan.Waits)
	}
}

// TestRunningMachine leaves a machine that runs something alone, unless that is
// allowed, and never touches one that boots already.
func TestRunningMachine(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*decidetest.Rack, *decidetest.Box)
		action model.Kind // "" for none
		block  string
	}{
		"something else":      {func(*decidetest.Rack, *decidetest.Box) {}, "", "RunningMachine"},
		"allowed by the flag": {func(r *decidetest.Rack, _ *decidetest.Box) { r.Desired.Options.RebootRunning = true }, model.PowerOff, ""},
		"allowed by the file": {func(r *decidetest.Rack, _ *decidetest.Box) {
			r.Desired.Spec.Spec.Hosts[0].BMC.RebootRunning = true
		}, model.PowerOff, ""},
		"our image, nothing counted": {func(r *decidetest.Rack, x *decidetest.Box) {
			r.Desired.Options.RebootRunning, x.Media = true, decidetest.ImageOf("cp-0")
		}, "", "MediaNotFetched"},
		"our image read, then dropped": {func(r *decidetest.Rack, x *decidetest.Box) {
			r.Desired.Options.RebootRunning, x.Fetched = true, model.Fetched{Requests: 1, Bytes: 1, Last: r.Observed.At}
		}, "", ""},
		"our image read long ago": {func(r *decidetest.Rack, x *decidetest.Box) {
			x.Fetched = model.Fetched{Requests: 1, Bytes: 1, Last: r.Observed.At.Add(-time.Hour)}
		}, "", "RunningMachine"},
		"somebody has just called": {func(r *decidetest.Rack, _ *decidetest.Box) {
			r.Desired.Options.RebootRunning = true
			r.Call()
		}, "", ""},
		"it is on its way": {func(_ *decidetest.Rack, x *decidetest.Box) { x.Power = model.PowerGoingOn }, "", ""},
		"nobody knows":     {func(_ *decidetest.Rack, x *decidetest.Box) { x.Power = model.PowerUnknown }, "", "BMCTrouble"},
		"off, and another image is in": {func(_ *decidetest.Rack, x *decidetest.Box) {
			x.Power, x.Media = model.PowerIsOff, decidetest.Foreign
		}, model.InsertMedia, ""},
		"the BMC is busy":         {func(_ *decidetest.Rack, x *decidetest.Box) { x.Trouble = model.TroubleBusy }, "", ""},
		"the BMC does not answer": {func(_ *decidetest.Rack, x *decidetest.Box) { x.Trouble = model.TroubleUnreachable }, "", "BMCTrouble"},
	} {
		t.Run(name, func(t *testing.T) {
			r := decidetest.ReadyRack(t, 3, 0)
			r.Observed.At = now
			x := r.Boxes["cp-0"]
			x.Power, x.Other = model.PowerIsOn, true
			test.change(r, x)
			plan, _, err := r.Plan()
			if err != nil {
				t.Fatal(err)
			}
			others := 0
			var action model.Kind
			for _, a := range plan.Actions {
				if a.Name != "cp-0" {
					others++
					continue
				}
				action = a.Kind
				if a.Destructive != (a.Kind == model.PowerOff) {
					t.Errorf("%s: destructive %v", a.Kind, a.Destructive)
				}
			}
			block := ""
			for _, b := range plan.Blockers {
				if b.Scope == "host/cp-0" {
					block = b.Reason
					if b.Cure != model.CurePerson || strings.Contains(b.Message, "token=") {
						t.Errorf("blocker %+v", b)
					}
				}
			}
			if action != test.action || block != test.block {
				t.Errorf("action %q, not %q; blocker %q, not %q", action, test.action, block, test.block)
			}
			if others != 2 {
				t.Errorf("%d of the others go on", others)
			}
		})
	}
}

// TestInsertionThatDoesNotEnd says in a single look what a BMC could not finish and that a
// download stands, and goes on to try.
func TestInsertionThatDoesNotEnd(t *testing.T) {
	failed := func(s *model.MachineState) {
		s.Failed, s.Cause, s.Next = model.InsertMedia, "its BMC has no licence", "buy one"
	}
	reads := func(idle time.Duration) func(*model.MachineState) {
		return func(s *model.MachineState) {
			s.Inserting, s.Fetch = true, model.Fetched{Requests: 1, Active: 1, Bytes: 5e6, Size: 1e9, Idle: idle}
		}
	}
	for name, test := range map[string]struct {
		seen               func(*model.MachineState)
		action             model.Kind
		block, warn, waits string
	}{
		"it has failed": {failed, model.InsertMedia,
			"could not insert the discovery image into the virtual drive of cp-0: its BMC has no licence", "", ""},
		"and is tried again":   {func(s *model.MachineState) { reads(0)(s); failed(s) }, "", "its BMC has no licence", "", ""},
		"the download goes on": {reads(time.Second), "", "", "", "5000 kB of 1000 MB fetched"},
		"it pauses":            {reads(10 * time.Second), "", "", "", "5000 kB of 1000 MB fetched, nothing for 10s"},
		"it pauses for long": {reads(40 * time.Second), "", "",
			"has not read the discovery image for 30s: 5000 kB of 1000 MB fetched", "nothing for 40s"},
		"it stands": {reads(2 * time.Minute), "",
			"has stopped reading the discovery image: 5000 kB of 1000 MB fetched, and nothing for 2m0s", "", ""},
		"nothing is known of it": {func(s *model.MachineState) {
			s.Inserting, s.Fetch = true, model.Fetched{Unknown: true}
		}, "", "", "", "inserts the discovery image"},
	} {
		t.Run(name, func(t *testing.T) {
			r := decidetest.ReadyRack(t, 1, 0)
			r.Boxes["cp-0"].Seen = test.seen
			plan, _, err := r.Plan()
			if err != nil {
				t.Fatal(err)
			}
			var action model.Kind
			var blocks, warnings, waits []string
			for _, a := range plan.Actions {
				action = a.Kind
			}
			for _, b := range plan.Blockers {
				blocks = append(blocks, b.Message)
			}
			for _, w := range plan.Warnings {
				warnings = append(warnings, w.Message)
			}
			for _, w := range plan.Waits {
				waits = append(waits, w.For)
			}
			has := func(what string, got []string, want string) {
				if text := strings.Join(got, "\n"); (want == "") != (text == "") || !strings.Contains(text, want) {
					t.Errorf("%s: %q, not %q", what, text, want)
				}
			}
			has("blockers", blocks, test.block)
			has("warnings", warnings, test.warn)
			if test.waits != "" {
				has("waits", waits, test.waits)
			}
			check.Equal(t, action, test.action, "action")
		})
	}
}

// TestBootAgain boots a machine again that was reset after it had been
// installed, where that is allowed, and otherwise asks for it.
func TestBootAgain(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		r := decidetest.ReadyRack(t, 1, 0)
		r.Boxes["cp-0"].Booted = true
		r.Pass()
		h := r.Host("host-cp-0")
		h.State, h.Status = model.HostResetting, "resetting-pending-user-action"
		x := r.Boxes["cp-0"]
		x.Power, x.Other, x.Fetched = model.PowerIsOn, true, model.Fetched{Requests: 9, Bytes: 9, Last: r.Observed.At}
		r.Desired.Options.RebootRunning = allowed
		plan, _, err := r.Plan()
		switch {
		case err != nil:
			t.Fatal(err)
		case allowed && (len(plan.Actions) != 1 || plan.Actions[0].Kind != model.PowerOff || !plan.Actions[0].Destructive):
			t.Errorf("allowed: %+v", plan.Actions)
		case !allowed && (len(plan.Actions) > 0 || len(plan.Blockers) != 1 || plan.Blockers[0].Reason != "RunningMachine"):
			t.Errorf("not allowed: %+v, %+v", plan.Actions, plan.Blockers)
		}
		h.Status = "resetting" // the service does that itself
		if plan, _, _ = r.Plan(); len(plan.Actions) > 0 || plan.Blockers[0].Reason != "BootDiscoveryImage" {
			t.Errorf("%+v, %+v", plan.Actions, plan.Blockers)
		}
	}
}

// TestOptionalMachine does not block an install that can do without a machine.
func TestOptionalMachine(t *testing.T) {
	r := decidetest.ReadyRack(t, 3, 1)
	none := 0
	r.Desired.Spec.Spec.Topology.Required.Workers = &none
	r.Boxes["worker-0"].Trouble = model.TroubleUnreachable
	plan, _, err := r.Plan()
	if err != nil || len(plan.Blockers) > 0 {
		t.Fatalf("%v, blockers %+v", err, plan.Blockers)
	}
	found := false
	for _, w := range plan.Waits {
		found = found || w.Scope == "host/worker-0" && !w.Until.IsZero() && strings.Contains(w.For, "something is wrong")
	}
	if !found {
		t.Errorf("waits %+v", plan.Waits)
	}
}

// TestNotAsked asks no BMC that the decision does not need.
func TestNotAsked(t *testing.T) {
	r := decidetest.ReadyRack(t, 3, 0)
	r.Desired.Spec.Spec.Boot.Method = "iso"
	if _, _, err := r.Plan(); err != nil || len(r.Asked) > 0 {
		t.Errorf("asked %v (%v) with boot.method iso", r.Asked, err)
	}
	r.Desired.Spec.Spec.Boot.Method = spec.BootRedfish
	r.Boxes["cp-1"].Booted = true
	r.Pass()
	r.Desired.Spec.Spec.Hosts[1].BMC = nil
	if _, _, err := r.Plan(); err != nil || r.Asked["cp-1"] > 0 || r.Asked["cp-0"] != 1 {
		t.Errorf("asked %v (%v), and cp-1 has no BMC", r.Asked, err)
	}
}

// TestAddedNode boots a machine into a cluster that is installed, and no other.
func TestAddedNode(t *testing.T) {
	c := decidetest.Sample(3, 1)
	w := decidetest.InstalledWithout(t, c, false)
	w.Absent, w.Desired.Options.AddNodes = "", true
	r := &decidetest.Rack{World: w, Boxes: map[string]*decidetest.Box{}, Asked: map[string]int{}}
	r.Wire()
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		r.Boxes[name].Booted, r.Boxes[name].Power = true, model.PowerIsOn
	}
	kinds := map[model.Kind]int{}
	r.Live(t, 12)
	for _, a := range r.Writes {
		if kinds[a.Kind]++; a.Kind.ByBMC() && a.Name != "worker-0" {
			t.Errorf("%s of %s", a.Kind, a.Name)
		}
	}
	plan, _, _ := r.Plan()
	if plan.Verdict != model.VerdictInstalled || kinds[model.PowerOn] != 1 || kinds[model.EjectMedia] != 1 ||
		r.Boxes["worker-0"].Media != "" {
		t.Errorf("%s %s; %v; %+v", plan.Verdict, plan.Message, kinds, r.Boxes["worker-0"])
	}
}

// TestEndEjects takes the image out at each end of an install, and says what it
// could not see.
func TestEndEjects(t *testing.T) {
	for _, state := range []model.ClusterState{model.ClusterInstalled, model.ClusterFailed, model.ClusterCancelled} {
		r := decidetest.ReadyRack(t, 1, 0)
		r.Boxes["cp-0"].Booted = true
		r.Pass()
		x := r.Boxes["cp-0"]
		x.Power, x.Media, x.Once = model.PowerIsOn, decidetest.ImageOf("cp-0"), true
		r.Observed.Cluster.State = state
		must.Do(t, r.Settle(), state)
		if x.Media != "" || x.Once {
			t.Errorf("%s: %+v", state, *x)
		}
		x.Trouble = model.TroubleUnreachable
		plan, _, _ := r.Plan()
		warned := false
		for _, w := range plan.Warnings {
			warned = warned || w.Reason == "BMCTrouble"
		}
		if slices.ContainsFunc(plan.Blockers, func(b model.Blocker) bool { return b.Scope != model.ScopeCluster }) || !warned {
			t.Errorf("%s, not readable: blockers %+v, warnings %+v", state, plan.Blockers, plan.Warnings)
		}
	}
}
