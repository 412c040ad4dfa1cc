package install_test

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// metal3Sample is a cluster whose machines the service boots.
func metal3Sample(controlPlane, workers int) *spec.Cluster {
	c := sample(controlPlane, workers)
	c.Spec.Boot.Method = spec.BootMetal3
	for i := range c.Spec.Hosts {
		c.Spec.Hosts[i].BMC = &spec.BMC{Address: "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1"}
	}
	return c
}

// Each machine is given to the service once, after its image is there; one that
// the file names later, or that is added to the installed cluster, too.
func TestMachinesThatTheServiceBoots(t *testing.T) {
	c := metal3Sample(3, 1)
	w := newWorld(&model.Desired{Spec: c})
	w.hub, w.observed.Enrolled = true, []model.Enrolled{}
	later := c.Spec.Hosts[3]
	c.Spec.Hosts = c.Spec.Hosts[:3] // whose worker is still to be written
	registered := func() int { return count(w, model.RegisterHost) }
	run := func() {
		t.Helper()
		for range 20 {
			if err := settle(w); err != nil {
				t.Fatal(err)
			}
			w.pass()
		}
	}
	w.dark = func(name string) bool { return name == "cp-2" } // has to wait, so that nothing starts
	run()
	if registered() != 3 || w.writes[0].Kind != model.RegisterCluster {
		t.Fatalf("writes %v", keys(w.writes))
	}
	c.Spec.Hosts = append(c.Spec.Hosts, later)
	run()
	if registered() != 4 {
		t.Errorf("a host that was added to the file later: writes %v", keys(w.writes))
	}
	w.dark = nil
	run()
	run()
	if plan := w.decide(); plan.Verdict != model.VerdictInstalled || registered() != 4 {
		t.Fatalf("%s, writes %v", plan.Message, keys(w.writes))
	}
	extra := later
	extra.Name, extra.Match.MAC = "worker-9", "52:54:00:00:09:09"
	c.Spec.Hosts = append(c.Spec.Hosts, extra)
	w.desired.Options.AddNodes = true
	run()
	if plan := w.decide(); plan.Verdict != model.VerdictInstalled || registered() != 5 {
		t.Errorf("%+v, writes %v", plan, keys(w.writes))
	}
}

// What is to be known of such a machine decides what is done.
func TestEnrolledMachines(t *testing.T) {
	for name, test := range map[string]struct {
		enrolled []model.Enrolled // nil: the service boots no machines
		change   func(*world)
		acts     bool
		blocked  string
		waits    string
	}{
		"not given yet":                {enrolled: []model.Enrolled{}, acts: true},
		"a service that boots none":    {waits: "to boot the discovery image"},
		"given":                        {enrolled: []model.Enrolled{{Name: "cp-0", Owned: true, State: "inspecting"}}, waits: "says that it is inspecting"},
		"given by somebody else":       {enrolled: []model.Enrolled{{Name: "node7", MAC: "52:54:00:00:00:00"}}, waits: "cp-0 to boot"},
		"another machine of that name": {enrolled: []model.Enrolled{{Name: "cp-0", MAC: "52:54:00:77:77:77"}}, acts: true},
		"in trouble":                   {enrolled: []model.Enrolled{{Name: "cp-0", Owned: true, Trouble: "no route to 10.0.0.1"}}, blocked: "no route to 10.0.0.1"},
		"has no BMC in the file": {enrolled: []model.Enrolled{}, waits: "to boot the discovery image", change: func(w *world) {
			w.desired.Spec.Spec.Hosts[0].BMC = nil
		}},
		"booted in another way": {enrolled: []model.Enrolled{}, waits: "to boot the discovery image", change: func(w *world) {
			w.desired.Spec.Spec.Boot.Method = "iso"
		}},
		"no image yet": {enrolled: []model.Enrolled{}, change: func(w *world) { w.observed.InfraEnvs[0].Image.State = model.ImagePending }, waits: "the discovery image"},
		"something else first": {enrolled: []model.Enrolled{}, waits: "to boot the discovery image", change: func(w *world) {
			w.desired.Spec.Spec.Network.VIPs.API = []string{"192.168.127.77"}
		}},
	} {
		c := metal3Sample(1, 0)
		c.Spec.Hosts[0].Match.MAC = "52:54:00:00:00:00"
		w := newWorld(&model.Desired{Spec: c})
		w.dark = func(string) bool { return true }
		for range 4 {
			if err := settle(w); err != nil {
				t.Fatal(err)
			}
		}
		w.observed.Enrolled = test.enrolled
		if test.change != nil {
			test.change(w)
		}
		plan := w.decide()
		if acts := hasKind(plan, model.RegisterHost); acts != test.acts {
			t.Errorf("%s: actions %+v", name, plan.Actions)
		}
		found := test.waits == ""
		for _, x := range plan.Waits {
			found = found || strings.Contains(x.For, test.waits)
		}
		blocked := ""
		for _, b := range plan.Blockers {
			blocked += b.Message
		}
		if !found || (blocked == "") != (test.blocked == "") || !strings.Contains(blocked, test.blocked) {
			t.Errorf("%s: waits %+v, blockers %+v", name, plan.Waits, plan.Blockers)
		}
	}
}

// A worker that the install can do without is waited for as long as any, and
// blocks nothing.
func TestEnrolledMachineThatIsNotRequired(t *testing.T) {
	c := metal3Sample(3, 1)
	none := 0
	c.Spec.Topology.Required.Workers = &none
	w := newWorld(&model.Desired{Spec: c})
	w.observed.Enrolled = []model.Enrolled{}
	w.absent = "worker-0"
	for range 6 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	for i := range w.observed.Enrolled {
		if w.observed.Enrolled[i].Name == "worker-0" {
			w.observed.Enrolled[i].Trouble = "wrong password"
		}
	}
	plan := w.decide()
	told := false
	for _, x := range plan.Waits {
		told = told || strings.Contains(x.For, "wrong password") && !x.Until.IsZero()
	}
	if !told || len(plan.Blockers) > 0 {
		t.Errorf("waits %+v, blockers %+v", plan.Waits, plan.Blockers)
	}
	w.observed.At = w.observed.At.Add(2 * time.Hour)
	if plan := w.decide(); !hasKind(plan, model.StartInstall) {
		t.Errorf("later: %+v", plan)
	}
}

// TestUnnamedMachineThatTheServiceCannotBoot is named where the file names no machines, as for
// why with the name of a cluster; machines of others are not.
func TestUnnamedMachineThatTheServiceCannotBoot(t *testing.T) {
	c := sample(3, 0)
	c.Spec.Hosts, c.Spec.AcceptUnknownHosts = nil, true
	w := newWorld(&model.Desired{Spec: c})
	w.hub, w.observed.Enrolled = true, []model.Enrolled{}
	for range 10 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	if len(w.observed.InfraEnvs) == 0 {
		t.Fatal("there is no image")
	}
	env := w.observed.InfraEnvs[0].Name
	w.observed.Enrolled = []model.Enrolled{
		{Name: "node7", InfraEnv: env, Trouble: "its PreprovisioningImage cannot be made: no such arch"},
		{Name: "node8", InfraEnv: env, State: "preparing"},
		{Name: "stranger", InfraEnv: "another", Trouble: "broken"},
	}
	var says []string
	for _, b := range w.decide().Blockers {
		says = append(says, b.Message)
	}
	if got := strings.Join(says, "\n"); got != "the service cannot boot node7: its PreprovisioningImage cannot be made: no such arch" {
		t.Errorf("%q; waits %+v", got, w.decide().Waits)
	}
}
