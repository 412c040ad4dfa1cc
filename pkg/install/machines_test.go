package install_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ready is a rack whose cluster and image are there, and whose machines have
// still to boot.
func ready(t *testing.T, controlPlane, workers int) *rack {
	t.Helper()
	r := newRack(&model.Desired{Spec: sample(controlPlane, workers)})
	for range 2 {
		for _, a := range r.decide().Actions {
			if err := r.apply(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(r.observed.InfraEnvs) == 0 {
		t.Fatal("there is no image to boot")
	}
	return r
}

// TestBootSteps walks one machine from off to its registration.
func TestBootSteps(t *testing.T) {
	r := ready(t, 1, 0)
	var steps []string
	for range 10 {
		plan, _, err := r.plan()
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
			if err := r.tell(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := strings.Join(steps, " "); got != "InsertMedia SetBootOnce PowerOn" {
		t.Errorf("steps: %s", got)
	}
	plan, _, _ := r.plan()
	if len(plan.Waits) != 1 || plan.Waits[0].Who != model.WhoMachine || !strings.Contains(plan.Waits[0].For, "cp-0 to register: BMC reached, image inserted, 1073 MB of 1073 MB fetched, agent not called yet") {
		t.Errorf("waits: %+v", plan.Waits)
	}
}

// TestWhySaysWhoAsksTheBMC: a look that writes nothing does not learn what a BMC answers, and says which command does.
func TestWhySaysWhoAsksTheBMC(t *testing.T) {
	for _, test := range []struct {
		box  box
		want string
	}{
		{box{power: model.PowerIsOff}, "insert the discovery image into the virtual drive of cp-0"},
		{box{power: model.PowerIsOff, media: imageOf("cp-0"), once: true}, "switch on cp-0"},
	} {
		r := ready(t, 1, 0)
		r.boxes["cp-0"] = &test.box
		plan, _, err := install.New(service{r}, install.WithMachines(bmcs{r})).Explain(t.Context(), r.desired, &r.observed, "")
		want := "cp-0 to be booted: create cluster has still to " + test.want + ", and says what its BMC answers"
		if err != nil || len(plan.Waits) != 1 || plan.Waits[0].For != want || plan.Waits[0].Next != "{create cluster -f FILE}" {
			t.Errorf("want %q: %v, %+v", want, err, plan.Waits)
		}
		if plan, _, _ = r.plan(); len(plan.Waits) != 0 || len(plan.Actions) != 1 {
			t.Errorf("create is told to wait: %+v", plan)
		}
	}
}

// TestRunningMachine leaves a machine that runs something alone, unless that is
// allowed, and never touches one that boots already.
func TestRunningMachine(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*rack, *box)
		action model.Kind // "" for none
		block  string
	}{
		"something else":             {func(*rack, *box) {}, "", "RunningMachine"},
		"allowed by the flag":        {func(r *rack, _ *box) { r.desired.Options.RebootRunning = true }, model.PowerOff, ""},
		"allowed by the file":        {func(r *rack, _ *box) { r.desired.Spec.Spec.Hosts[0].BMC.RebootRunning = true }, model.PowerOff, ""},
		"our image, nothing counted": {func(r *rack, x *box) { r.desired.Options.RebootRunning, x.media = true, imageOf("cp-0") }, "", "MediaNotFetched"},
		"our image read, then dropped": {func(r *rack, x *box) {
			r.desired.Options.RebootRunning, x.fetched = true, model.Fetched{Requests: 1, Bytes: 1, Last: r.observed.At}
		}, "", ""},
		"our image read long ago": {func(r *rack, x *box) {
			x.fetched = model.Fetched{Requests: 1, Bytes: 1, Last: r.observed.At.Add(-time.Hour)}
		}, "", "RunningMachine"},
		"somebody has just called":     {func(r *rack, _ *box) { r.desired.Options.RebootRunning = true; r.call() }, "", ""},
		"it is on its way":             {func(_ *rack, x *box) { x.power = model.PowerGoingOn }, "", ""},
		"nobody knows":                 {func(_ *rack, x *box) { x.power = model.PowerUnknown }, "", "BMCTrouble"},
		"off, and another image is in": {func(_ *rack, x *box) { x.power, x.media = model.PowerIsOff, foreign }, model.InsertMedia, ""},
		"the BMC is busy":              {func(_ *rack, x *box) { x.trouble = model.TroubleBusy }, "", ""},
		"the BMC does not answer":      {func(_ *rack, x *box) { x.trouble = model.TroubleUnreachable }, "", "BMCTrouble"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t, 3, 0)
			r.observed.At = now
			x := r.boxes["cp-0"]
			x.power, x.other = model.PowerIsOn, true
			test.change(r, x)
			plan, _, err := r.plan()
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
		"it has failed":          {failed, model.InsertMedia, "could not insert the discovery image into the virtual drive of cp-0: its BMC has no licence", "", ""},
		"and is tried again":     {func(s *model.MachineState) { reads(0)(s); failed(s) }, "", "its BMC has no licence", "", ""},
		"the download goes on":   {reads(time.Second), "", "", "", "5000 kB of 1000 MB fetched"},
		"it pauses":              {reads(10 * time.Second), "", "", "", "5000 kB of 1000 MB fetched, nothing for 10s"},
		"it pauses for long":     {reads(40 * time.Second), "", "", "has read nothing of the discovery image for 30s: 5000 kB of 1000 MB fetched", "nothing for 40s"},
		"it stands":              {reads(2 * time.Minute), "", "has stopped to read the discovery image: 5000 kB of 1000 MB fetched, and nothing for 2m0s", "", ""},
		"nothing is known of it": {func(s *model.MachineState) { s.Inserting, s.Fetch = true, model.Fetched{Unknown: true} }, "", "", "", "inserts the discovery image"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t, 1, 0)
			r.boxes["cp-0"].seen = test.seen
			plan, _, err := r.plan()
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
			if action != test.action {
				t.Errorf("action %q, not %q", action, test.action)
			}
		})
	}
}

// call has a machine register that has not sent its inventory.
func (r *rack) call() {
	h := machine("someone", "52:54:00:00:00:00", 1)
	h.Inventory = model.Inventory{}
	r.observed.Hosts = append(r.observed.Hosts, h)
}

// TestBootAgain boots a machine again that was reset after it had been
// installed, where that is allowed, and otherwise asks for it.
func TestBootAgain(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		r := ready(t, 1, 0)
		r.boxes["cp-0"].booted = true
		r.pass()
		h := r.host("host-cp-0")
		h.State, h.Status = model.HostResetting, "resetting-pending-user-action"
		x := r.boxes["cp-0"]
		x.power, x.other, x.fetched = model.PowerIsOn, true, model.Fetched{Requests: 9, Bytes: 9, Last: r.observed.At}
		r.desired.Options.RebootRunning = allowed
		plan, _, err := r.plan()
		switch {
		case err != nil:
			t.Fatal(err)
		case allowed && (len(plan.Actions) != 1 || plan.Actions[0].Kind != model.PowerOff || !plan.Actions[0].Destructive):
			t.Errorf("allowed: %+v", plan.Actions)
		case !allowed && (len(plan.Actions) > 0 || len(plan.Blockers) != 1 || plan.Blockers[0].Reason != "RunningMachine"):
			t.Errorf("not allowed: %+v, %+v", plan.Actions, plan.Blockers)
		}
		h.Status = "resetting" // the service sees to that itself
		if plan, _, _ = r.plan(); len(plan.Actions) > 0 || plan.Blockers[0].Reason != "BootDiscoveryImage" {
			t.Errorf("%+v, %+v", plan.Actions, plan.Blockers)
		}
	}
}

// TestOptionalMachine does not block an install that can do without a machine.
func TestOptionalMachine(t *testing.T) {
	r := ready(t, 3, 1)
	none := 0
	r.desired.Spec.Spec.Topology.Required.Workers = &none
	r.boxes["worker-0"].trouble = model.TroubleUnreachable
	plan, _, err := r.plan()
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
	r := ready(t, 3, 0)
	r.desired.Spec.Spec.Boot.Method = "iso"
	if _, _, err := r.plan(); err != nil || len(r.asked) > 0 {
		t.Errorf("asked %v (%v) with boot.method iso", r.asked, err)
	}
	r.desired.Spec.Spec.Boot.Method = spec.BootRedfish
	r.boxes["cp-1"].booted = true
	r.pass()
	r.desired.Spec.Spec.Hosts[1].BMC = nil
	if _, _, err := r.plan(); err != nil || r.asked["cp-1"] > 0 || r.asked["cp-0"] != 1 {
		t.Errorf("asked %v (%v), and cp-1 has no BMC", r.asked, err)
	}
}

// TestAddedNode boots a machine into a cluster that is installed, and no other.
func TestAddedNode(t *testing.T) {
	c := sample(3, 1)
	w := installedWithout(t, c, false)
	w.absent, w.desired.Options.AddNodes = "", true
	r := &rack{world: w, boxes: map[string]*box{}, asked: map[string]int{}}
	r.wire()
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		r.boxes[name].booted, r.boxes[name].power = true, model.PowerIsOn
	}
	kinds := map[model.Kind]int{}
	for range 12 {
		if err := r.settle(); err != nil {
			t.Fatal(err)
		}
		r.pass()
	}
	for _, a := range r.writes {
		if kinds[a.Kind]++; byBMC(a.Kind) && a.Name != "worker-0" {
			t.Errorf("%s of %s", a.Kind, a.Name)
		}
	}
	plan, _, _ := r.plan()
	if plan.Verdict != model.VerdictInstalled || kinds[model.PowerOn] != 1 || kinds[model.EjectMedia] != 1 || r.boxes["worker-0"].media != "" {
		t.Errorf("%s %s; %v; %+v", plan.Verdict, plan.Message, kinds, r.boxes["worker-0"])
	}
}

// TestThenBoots says before a first run what will be done to machines.
func TestThenBoots(t *testing.T) {
	r := newRack(&model.Desired{Spec: sample(1, 0)})
	plan, observed, err := r.plan()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, step := range install.NewSnapshot(r.desired, observed).Then(plan) {
		found = found || step.Kind == model.InsertMedia && strings.Contains(step.Message, "boot cp-0 through its BMC")
	}
	if !found {
		t.Errorf("steps %+v", install.NewSnapshot(r.desired, observed).Then(plan))
	}
}

// TestReading names the hosts that a run must not be left for without care.
func TestReading(t *testing.T) {
	r := ready(t, 3, 0)
	for _, name := range []string{"cp-0", "cp-1"} {
		r.boxes[name].power, r.boxes[name].media = model.PowerIsOn, imageOf(name)
	}
	_, observed, err := r.plan()
	if got := strings.Join(install.NewSnapshot(r.desired, observed).Reading(), " "); err != nil || got != "cp-0 cp-1" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestEndEjects takes the image out at the end of an install, whatever end that
// is, and says what it could not see.
func TestEndEjects(t *testing.T) {
	for _, state := range []model.ClusterState{model.ClusterInstalled, model.ClusterFailed, model.ClusterCancelled} {
		r := ready(t, 1, 0)
		r.boxes["cp-0"].booted = true
		r.pass()
		x := r.boxes["cp-0"]
		x.power, x.media, x.once = model.PowerIsOn, imageOf("cp-0"), true
		r.observed.Cluster.State = state
		if err := r.settle(); err != nil {
			t.Fatalf("%s: %v", state, err)
		}
		if x.media != "" || x.once {
			t.Errorf("%s: %+v", state, *x)
		}
		x.trouble = model.TroubleUnreachable
		plan, _, _ := r.plan()
		warned := false
		for _, w := range plan.Warnings {
			warned = warned || w.Reason == "BMCTrouble"
		}
		if slices.ContainsFunc(plan.Blockers, func(b model.Blocker) bool { return b.Scope != model.ScopeCluster }) || !warned {
			t.Errorf("%s, not readable: blockers %+v, warnings %+v", state, plan.Blockers, plan.Warnings)
		}
	}
}
