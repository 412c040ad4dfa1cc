package install_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// addingWorld is an installed cluster that takes more hosts: worker-1 has
// registered to be added, and is ready.
func addingWorld(t *testing.T) *world {
	t.Helper()
	w := installedWithout(t, sample(3, 2), false)
	w.absent, w.desired.Options.AddNodes = "", true
	for range 10 {
		plan := w.decide()
		if hasKind(plan, model.InstallHost) {
			w.writes = nil
			return w
		}
		for _, a := range plan.Actions {
			if err := w.apply(a); err != nil {
				t.Fatal(err)
			}
		}
		if len(plan.Actions) == 0 {
			w.pass()
		}
	}
	t.Fatalf("never ready to be added: %+v", w.decide())
	return nil
}

// laterEnv is an InfraEnv that was made once the cluster was installed.
func laterEnv(w *world) model.InfraEnv {
	env := w.observed.InfraEnvs[0]
	env.ID, env.Name, env.Created = "infraenv-lab-2", "lab-2", w.observed.Cluster.InstallCompleted.Add(time.Minute)
	return env
}

// TestWithoutAddNodes nothing is written to an installed cluster, whatever is
// missing or has registered.
func TestWithoutAddNodes(t *testing.T) {
	w := addingWorld(t)
	w.desired.Options.AddNodes = false
	plan := w.decide()
	if len(plan.Actions) > 0 || plan.Verdict != model.VerdictInstalled || !strings.Contains(plan.Message, "worker-1") || plan.Next != "{add-node -f FILE}" {
		t.Errorf("plan %+v", plan)
	}
}

// TestAddNodesStates holds every state of a host that is to be added to what
// is done or said about it.
func TestAddNodesStates(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*world, *model.Host)
		verdict model.Verdict
		action  string // key of the only action
		wait    string // part of a wait
		reason  string // of a blocker
		message string // part of the plan's message
	}{
		"ready":      {func(*world, *model.Host) {}, model.VerdictWorking, "host/worker-1/install", "", "", ""},
		"renamed":    {func(_ *world, h *model.Host) { h.Settings[model.SettingHostname] = model.ValueOf("x") }, model.VerdictWorking, "host/worker-1/update", "", "", ""},
		"discovered": {func(_ *world, h *model.Host) { h.State = model.HostDiscovering }, model.VerdictWaiting, "", "worker-1 to be checked", "", ""},
		"unread":     {func(_ *world, h *model.Host) { h.Inventory = model.Inventory{} }, model.VerdictWaiting, "", "the inventory of a new host", "", ""},
		"no such disk": {func(w *world, _ *model.Host) { w.desired.Spec.Spec.Hosts[4].Disk.Hints.DeviceName = "/dev/none" }, model.VerdictBlocked,
			"", "", "DiskHints", ""},
		"blocked": {func(_ *world, h *model.Host) {
			h.State = model.HostBlocked
			h.Validations = []model.Validation{{ID: "has-min-memory", Category: "hardware", Status: "failure", Message: "too little memory"}}
		}, model.VerdictBlocked, "", "", "ValidationFails", "too little memory"},
		"small disk": {func(_ *world, h *model.Host) {
			h.State = model.HostBlocked
			h.Validations = []model.Validation{{ID: "has-min-valid-disks", Category: "hardware", Status: "failure", Message: "No eligible disks were found"}}
			h.Inventory.Disks = []model.Disk{{Path: "/dev/sda", SizeBytes: 20e9, Reasons: []string{"Disk is too small (disk only has 20 GB, but 100 GB are required)"}}}
		}, model.VerdictBlocked, "", "", "ValidationFails", "No eligible disks were found; /dev/sda: Disk is too small (disk only has 20 GB, but 100 GB are required)"},
		"silent": {func(_ *world, h *model.Host) { h.State = model.HostDisconnected }, model.VerdictBlocked, "", "", "HostDisconnected", ""},
		"installing": {func(_ *world, h *model.Host) {
			h.State, h.Progress.Stage = model.HostInstalling, "Writing image to disk"
		}, model.VerdictWaiting, "", "worker-1: Writing image to disk", "", ""},
		"stuck": {func(w *world, h *model.Host) {
			h.State, h.Progress = model.HostInstalling, model.HostProgress{Stage: "Writing image to disk", Updated: w.observed.At.Add(-3 * time.Hour)}
		}, model.VerdictBlocked, "", "", "StageTimedOut", ""},
		"wrong boot": {func(_ *world, h *model.Host) { h.State = model.HostNeedsUser }, model.VerdictBlocked, "", "", "BootedDiscoveryImage", ""},
		"reset":      {func(_ *world, h *model.Host) { h.State = model.HostResetting }, model.VerdictBlocked, "", "", "BootDiscoveryImage", ""},
		"cancelled":  {func(_ *world, h *model.Host) { h.State = model.HostCancelled }, model.VerdictBlocked, "", "", "LeftFromEarlierInstall", ""},
		"failed": {func(_ *world, h *model.Host) { h.State, h.StatusInfo = model.HostFailed, "its disk broke" }, model.VerdictFailed,
			"", "", "", "not added: worker-1: its disk broke"},
		"added":   {func(_ *world, h *model.Host) { h.State = model.HostAdded }, model.VerdictInstalled, "", "", "", "cannot see whether they have joined"},
		"strange": {func(_ *world, h *model.Host) { h.State, h.Status = model.HostUnknown, "levitating" }, model.VerdictWaiting, "", `"levitating"`, "", ""},
		"lost in the install": {func(w *world, h *model.Host) {
			w.host("host-worker-0").State, h.State = model.HostFailed, model.HostAdded
			w.observed.InfraEnvs = append(w.observed.InfraEnvs, laterEnv(w))
		}, model.VerdictWaiting, "", "worker-0 to boot the discovery image lab-2 and register, anew", "", ""},
		"two machines": {func(w *world, h *model.Host) {
			twin := *h
			twin.ID = "twin"
			w.observed.Hosts = append(w.observed.Hosts, twin)
		}, model.VerdictBlocked, "", "", "AmbiguousHost", ""},
		"image runs out": {func(w *world, _ *model.Host) {
			w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-1" })
			w.observed.InfraEnvs[0].Image.Expires = w.observed.At
		}, model.VerdictWorking, "infraenv/lab/renew", "worker-1 to boot the discovery image lab", "", ""},
		"made for it": {func(w *world, _ *model.Host) {
			w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-1" })
			w.observed.InfraEnvs = append(w.observed.InfraEnvs, laterEnv(w))
		}, model.VerdictWaiting, "", "worker-1 to boot the discovery image lab-2", "", ""},
		"degraded": {func(w *world, h *model.Host) {
			h.State, w.observed.Cluster.StatusInfo = model.HostAdded, "Cluster is installed but degraded. Failed OLM operators: lso"
		}, model.VerdictInstalled, "", "", "", "added: worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := addingWorld(t)
			test.change(w, w.host("host-worker-1"))
			plan := w.decide()
			if err := wellFormed(plan); err != nil {
				t.Fatal(err)
			}
			if plan.Verdict != test.verdict || strings.Join(keys(plan.Actions), " ") != test.action {
				t.Errorf("%s, actions %v; want %s, %q: %+v", plan.Verdict, keys(plan.Actions), test.verdict, test.action, plan)
			}
			if test.wait != "" && !slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.Contains(x.For, test.wait) }) {
				t.Errorf("waits %+v; want %q", plan.Waits, test.wait)
			}
			if test.reason != "" && !hasReason(plan, test.reason) {
				t.Errorf("blockers %+v; want %s", plan.Blockers, test.reason)
			}
			if !strings.Contains(plan.Message, test.message) {
				t.Errorf("message %q; want %q", plan.Message, test.message)
			}
		})
	}
}

// TestFastHostsAreNotHeldUp by one that is slower, that is blocked, or that
// nobody named.
func TestFastHostsAreNotHeldUp(t *testing.T) {
	w := addingWorld(t)
	w.host("host-worker-0").State = model.HostFailed // will not come
	w.observed.InfraEnvs = append(w.observed.InfraEnvs, laterEnv(w))
	stranger := machine("stranger", "52:54:00:ff:ff:ff", 90)
	stranger.Day2, stranger.State = true, model.HostReady
	w.observed.Hosts = append(w.observed.Hosts, stranger)
	plan := w.decide()
	if strings.Join(keys(plan.Actions), " ") != "host/worker-1/install" {
		t.Errorf("actions %v", keys(plan.Actions))
	}
	if !slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool { return x.Reason == "UnknownHost" }) {
		t.Errorf("nobody is told of the stranger: %+v", plan.Warnings)
	}
}

// TestUnnamedNodes takes as many machines as the file counts, of those that it
// allows without naming them.
func TestUnnamedNodes(t *testing.T) {
	w := addingWorld(t)
	file := &w.desired.Spec.Spec
	file.AcceptUnknownHosts, file.Hosts = true, file.Hosts[:4]
	other := machine("other", "52:54:00:ff:ff:fe", 91)
	other.Day2, other.State = true, model.HostReady
	w.observed.Hosts = append(w.observed.Hosts, other)
	plan := w.decide()
	if strings.Join(keys(plan.Actions), " ") != "host/host-worker-1/install" || len(plan.Wipes) == 0 {
		t.Errorf("actions %v, wipes %v", keys(plan.Actions), plan.Wipes)
	}
	more := *file.Topology.Workers + 2
	file.Topology.Workers = &more
	plan = w.decide()
	if len(plan.Actions) != 2 || !slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return strings.HasPrefix(x.For, "1 more hosts") }) {
		t.Errorf("actions %v, waits %+v", keys(plan.Actions), plan.Waits)
	}
}

// TestPoolWhoseImageChanges for a new host: the hosts of the cluster booted it
// once, and run from their disks since.
func TestPoolWhoseImageChanges(t *testing.T) {
	c := sample(3, 2)
	c.Spec.InfraEnv.Bind = spec.BindLate
	w := installedWithout(t, c, false)
	w.desired.Options.AddNodes, w.observed.Cluster.State = true, model.ClusterAddingHosts
	c.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
	if plan := w.decide(); strings.Join(keys(plan.Actions), " ") != "infraenv/lab/update" || len(plan.Blockers) > 0 {
		t.Errorf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
	waits := machine("worker-1", c.Spec.Hosts[4].Match.MAC, 4)
	waits.Day2, waits.State, waits.InfraEnvID = true, model.HostReady, w.observed.InfraEnvs[0].ID
	w.observed.Hosts = append(w.observed.Hosts, waits)
	c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "more", Match: spec.Match{MAC: "52:54:00:00:02:00"}})
	if plan := w.decide(); !hasReason(plan, "NewImageNeeded") {
		t.Errorf("worker-1 runs the old image: actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
}

// TestAddNodesToWhatIsNotInstalled installs nothing.
func TestAddNodesToWhatIsNotInstalled(t *testing.T) {
	w := newWorld(&model.Desired{Spec: sample(1, 0), Options: model.Options{AddNodes: true}})
	if plan := w.decide(); len(plan.Actions) > 0 || plan.Blockers[0].Cure != model.CureOwner {
		t.Errorf("no cluster: %+v", plan)
	}
	w = readyWorld(t, sample(1, 0))
	w.desired.Options.AddNodes = true
	if plan := w.decide(); len(plan.Actions) > 0 || !hasReason(plan, "ClusterNotInstalled") {
		t.Errorf("not installed: %+v", plan)
	}
}

// TestRunAddsNodes to its ends.
func TestRunAddsNodes(t *testing.T) {
	for name, test := range map[string]struct {
		absent string
		fails  bool
		code   model.Code
		text   string
	}{
		"added":      {code: 0},
		"never came": {absent: "worker-1", code: model.CodeNeedsUser, text: "worker-1 to boot the discovery image lab"},
		"failed":     {fails: true, code: model.CodeFailed, text: "add nodes to lab.: not added: worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := installedWithout(t, sample(3, 2), false)
				w.absent, w.desired.Options.AddNodes = test.absent, true
				p := &plane{world: w} // which lives by the bubble's clock
				w.observed.InfraEnvs[0].Created = time.Now().Add(-2 * time.Hour)
				w.observed.InfraEnvs[0].Image.Created = w.observed.InfraEnvs[0].Created
				w.observed.Cluster.InstallCompleted = time.Now().Add(-time.Hour)
				if test.fails {
					p.lose = func(a model.Action) error {
						if a.Kind == model.InstallHost {
							p.host(a.Target).State = model.HostFailed
						}
						return nil
					}
				}
				result, _, err := runFor(t, p, false, install.WithTimeouts(12*time.Hour, time.Hour))
				if result.ExitCode != int(test.code) || err != nil && !strings.Contains(strings.Replace(err.Error(), "lab.example.com", "lab.", 1), test.text) {
					t.Fatalf("code %d: %v", result.ExitCode, err)
				}
				if test.code != 0 {
					if model.NextOf(err) == "" {
						t.Error("nothing says what to do next")
					}
					return
				}
				writes := len(p.writes)
				if _, _, err := runFor(t, p, false); err != nil || len(p.writes) != writes {
					t.Errorf("a second run: %v, writes %v", err, keys(p.writes[writes:]))
				}
			})
		})
	}
}
