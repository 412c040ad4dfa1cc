package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// metal3Sample is a cluster whose machines the service boots.
func metal3Sample(controlPlane, workers int) *spec.Cluster {
	c := decidetest.Sample(controlPlane, workers)
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
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Hub, w.Observed.Enrolled = true, []model.Enrolled{}
	later := c.Spec.Hosts[3]
	c.Spec.Hosts = c.Spec.Hosts[:3] // the worker is to be added later
	registered := func() int { return w.Count(model.RegisterHost) }
	run := func() {
		t.Helper()
		w.Live(t, 20)
	}
	w.Dark = func(name string) bool { return name == "cp-2" } // has to wait, so that nothing starts
	run()
	if registered() != 3 || w.Writes[0].Kind != model.RegisterCluster {
		t.Fatalf("writes %v", decidetest.Keys(w.Writes))
	}
	c.Spec.Hosts = append(c.Spec.Hosts, later)
	run()
	if registered() != 4 {
		t.Errorf("a host that was added to the file later: writes %v", decidetest.Keys(w.Writes))
	}
	w.Dark = nil
	run()
	run()
	if plan := w.Decide(); plan.Verdict != model.VerdictInstalled || registered() != 4 {
		t.Fatalf("%s, writes %v", plan.Message, decidetest.Keys(w.Writes))
	}
	extra := later
	extra.Name, extra.Match.MAC = "worker-9", "52:54:00:00:09:09"
	c.Spec.Hosts = append(c.Spec.Hosts, extra)
	w.Desired.Options.AddNodes = true
	run()
	if plan := w.Decide(); plan.Verdict != model.VerdictInstalled || registered() != 5 {
		t.Errorf("%+v, writes %v", plan, decidetest.Keys(w.Writes))
	}
}

// What is to be known of such a machine decides what is done.
func TestEnrolledMachines(t *testing.T) {
	for name, test := range map[string]struct {
		enrolled []model.Enrolled // nil: the service boots no machines
		change   func(*decidetest.World)
		acts     bool
		blocked  string
		waits    string
	}{
		"not given yet":             {enrolled: []model.Enrolled{}, acts: true},
		"a service that boots none": {waits: "to boot the discovery image"},
		"given": {enrolled: []model.Enrolled{{Name: "cp-0", Owned: true, State: "inspecting"}},
			waits: "reports the state inspecting"},
		"given by somebody else":       {enrolled: []model.Enrolled{{Name: "node7", MAC: "52:54:00:00:00:00"}}, waits: "cp-0 to boot"},
		"another machine of that name": {enrolled: []model.Enrolled{{Name: "cp-0", MAC: "52:54:00:77:77:77"}}, acts: true},
		"in trouble": {enrolled: []model.Enrolled{{Name: "cp-0", Owned: true, Trouble: "no route to 10.0.0.1"}},
			blocked: "no route to 10.0.0.1"},
		"has no BMC in the file": {enrolled: []model.Enrolled{}, waits: "to boot the discovery image", change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Hosts[0].BMC = nil
		}},
		"booted in another way": {enrolled: []model.Enrolled{}, waits: "to boot the discovery image", change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Boot.Method = "iso"
		}},
		"no image yet": {enrolled: []model.Enrolled{}, change: func(w *decidetest.World) {
			w.Observed.InfraEnvs[0].Image.State = model.ImagePending
		}, waits: "the discovery image"},
		"something else first": {enrolled: []model.Enrolled{}, waits: "to boot the discovery image", change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Network.VIPs.API = []string{"192.168.127.77"}
		}},
	} {
		c := metal3Sample(1, 0)
		c.Spec.Hosts[0].Match.MAC = "52:54:00:00:00:00"
		w := decidetest.NewWorld(&model.Desired{Spec: c})
		w.Dark = func(string) bool { return true }
		for range 4 {
			w.Rest(t)
		}
		w.Observed.Enrolled = test.enrolled
		if test.change != nil {
			test.change(w)
		}
		plan := w.Decide()
		if acts := decidetest.HasKind(plan, model.RegisterHost); acts != test.acts {
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
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Observed.Enrolled = []model.Enrolled{}
	w.Absent = "worker-0"
	w.Live(t, 6)
	for i := range w.Observed.Enrolled {
		if w.Observed.Enrolled[i].Name == "worker-0" {
			w.Observed.Enrolled[i].Trouble = "wrong password"
		}
	}
	plan := w.Decide()
	told := false
	for _, x := range plan.Waits {
		told = told || strings.Contains(x.For, "wrong password") && !x.Until.IsZero()
	}
	if !told || len(plan.Blockers) > 0 {
		t.Errorf("waits %+v, blockers %+v", plan.Waits, plan.Blockers)
	}
	w.Observed.At = w.Observed.At.Add(2 * time.Hour)
	if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("later: %+v", plan)
	}
}

// TestUnnamedMachineThatTheServiceCannotBoot is named where the file names no machines, as for
// why with the name of a cluster; machines of others are not.
func TestUnnamedMachineThatTheServiceCannotBoot(t *testing.T) {
	c := decidetest.Sample(3, 0)
	c.Spec.Hosts, c.Spec.AcceptUnknownHosts = nil, true
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Hub, w.Observed.Enrolled = true, []model.Enrolled{}
	w.Live(t, 10)
	if len(w.Observed.InfraEnvs) == 0 {
		t.Fatal("there is no image")
	}
	env := w.Observed.InfraEnvs[0].Name
	w.Observed.Enrolled = []model.Enrolled{
		{Name: "node7", InfraEnv: env, Trouble: "its PreprovisioningImage cannot be made: no such arch"},
		{Name: "node8", InfraEnv: env, State: "preparing"},
		{Name: "stranger", InfraEnv: "another", Trouble: "broken"},
	}
	var says []string
	for _, b := range w.Decide().Blockers {
		says = append(says, b.Message)
	}
	if got := strings.Join(says, "\n"); got != "the service cannot boot node7: its PreprovisioningImage cannot be made: no such arch" {
		t.Errorf("%q; waits %+v", got, w.Decide().Waits)
	}
}

// A host is approved in the same write that makes it what the file says, and
// only if the file names it.
func TestApproval(t *testing.T) {
	asked, granted := model.ValueOf(false), model.ValueOf(true)
	for name, test := range map[string]struct {
		approved model.Value // "": the service knows no approval
		change   func(*model.Host, *spec.Cluster)
		want     model.Settings // nil: nothing is written
	}{
		"with role and hostname": {approved: asked, want: model.Settings{
			model.SettingApproved: granted, model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf("cp-0"),
		}},
		"a service that knows none": {want: model.Settings{model.SettingRole: model.ValueOf("control-plane"),
			model.SettingHostname: model.ValueOf("cp-0")}},
		"alone where the rest is so": {approved: asked, want: model.Settings{model.SettingApproved: granted},
			change: func(h *model.Host, _ *spec.Cluster) {
				h.Settings[model.SettingRole], h.Settings[model.SettingHostname] = model.ValueOf("control-plane"), model.ValueOf("cp-0")
			}},
		"approved by somebody else": {approved: granted,
			want: model.Settings{model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf("cp-0")}},
		"not before its inventory": {approved: asked, change: func(h *model.Host, _ *spec.Cluster) { h.Inventory = model.Inventory{} }},
		"not while its disk is not found": {approved: asked, change: func(_ *model.Host, c *spec.Cluster) {
			c.Spec.Hosts[0].Disk.Hints.DeviceName = "/dev/none"
		}},
		"not what the file does not name": {approved: asked, change: func(_ *model.Host, c *spec.Cluster) {
			c.Spec.Hosts[0].Match.MAC = "52:54:00:00:00:99"
		}},
		"what the file accepts": {approved: asked, want: model.Settings{model.SettingApproved: granted},
			change: func(_ *model.Host, c *spec.Cluster) {
				c.Spec.Hosts, c.Spec.AcceptUnknownHosts = nil, true
			}},
		"what the file accepts, before its inventory": {approved: asked, change: func(h *model.Host, c *spec.Cluster) {
			c.Spec.Hosts[0].Match.MAC, c.Spec.AcceptUnknownHosts, h.Inventory = "52:54:00:00:00:99", true, model.Inventory{}
		}},
	} {
		c := decidetest.Sample(1, 0)
		w := decidetest.ReadyWorld(t, c)
		h := w.Host("host-cp-0")
		h.Settings = model.Settings{}
		if test.approved != "" {
			h.Settings[model.SettingApproved] = test.approved
		}
		if test.change != nil {
			test.change(h, c)
		}
		var got model.Settings
		for _, a := range w.Decide().Actions {
			if a.Kind == model.UpdateHost {
				got = a.Settings
			}
		}
		if got.String() != test.want.String() {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// A host that joins an installed cluster is installed by its approval, which is
// therefore the action that says so.
func TestApprovalIsWhatInstallsANewNode(t *testing.T) {
	w := decidetest.InstalledWithout(t, decidetest.Sample(3, 1), true)
	w.Absent, w.Desired.Options.AddNodes = "", true
	w.Live(t, 20)
	update, do := slices.IndexFunc(w.Writes, func(a model.Action) bool { return a.Kind == model.UpdateHost }),
		slices.IndexFunc(w.Writes, func(a model.Action) bool { return a.Kind == model.InstallHost })
	if update < 0 || do < update || values(w.Writes[do].Settings) != "map[approved:true]" || !w.Writes[do].Destructive {
		t.Errorf("writes %v", w.Writes)
	}
	if plan := w.Decide(); plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Added, []string{"worker-0"}) {
		t.Errorf("%+v", plan)
	}
}
