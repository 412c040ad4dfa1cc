package decide_test

import (
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

// TestControlPlaneIsNotInstalledAgain where the service has lost the records of it.
func TestControlPlaneIsNotInstalledAgain(t *testing.T) {
	spare := spec.Host{Name: "cp-3", Role: spec.ControlPlane, Match: spec.Match{MAC: "52:54:00:00:00:33"}}
	for name, test := range map[string]struct {
		change func(*decidetest.World)
		alone  string // hosts that are left alone
		wanted string // the host that something is done to or waited for
		cure   model.Cure
	}{
		"a record is lost": {func(w *decidetest.World) { w.Lose("cp-0") }, "cp-0", "", model.CureNow},
		"all records are lost, while a worker is added": {func(w *decidetest.World) {
			w.Lose("cp-0", "cp-1", "cp-2")
			w.Observed.Cluster.State = model.ClusterAddingHosts
			w.Desired.Spec.Spec.Hosts = append(w.Desired.Spec.Spec.Hosts,
				spec.Host{Name: "worker-9", Role: spec.Worker, Match: spec.Match{MAC: "52:54:00:00:01:99"}})
		}, "cp-0 cp-1 cp-2", "worker-9", model.CurePerson},
		"one that has registered again": {func(w *decidetest.World) {
			w.Lose("cp-1")
			w.Returned("cp-1")
			w.Observed.Cluster.State = model.ClusterAddingHosts
		}, "cp-1", "", model.CureNow},
		"a lost record, and a new machine": {func(w *decidetest.World) {
			w.Lose("cp-1")
			w.Desired.Spec.Spec.Hosts = append(w.Desired.Spec.Spec.Hosts, spare)
		}, "cp-1 cp-3", "", model.CureNow},
		"a machine without a role": {func(w *decidetest.World) {
			w.Lose("cp-1")
			w.Desired.Spec.Spec.Hosts[1].Role = spec.Auto
		}, "cp-1", "", model.CureNow},
		"one more than was installed": {func(w *decidetest.World) {
			w.Observed.Cluster.State = model.ClusterAddingHosts
			w.Desired.Spec.Spec.Hosts = append(w.Desired.Spec.Spec.Hosts, spare)
		}, "", "cp-3", ""},
		"another machine in the place of one": {func(w *decidetest.World) {
			w.Observed.Cluster.State = model.ClusterAddingHosts
			w.Desired.Spec.Spec.Hosts[2] = spare
		}, "", "cp-3", ""},
		"one that the install lost": {func(w *decidetest.World) {
			w.Observed.Cluster.State = model.ClusterAddingHosts
			w.Host("host-cp-0").State = model.HostFailed
		}, "", "cp-0", ""},
		"permitted": {func(w *decidetest.World) {
			w.Lose("cp-0")
			w.Observed.Cluster.State = model.ClusterAddingHosts
			w.Desired.Options.AcceptControlPlane = true
		}, "", "cp-0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.InstalledWithout(t, decidetest.Sample(3, 1), false)
			w.Absent, w.Desired.Options.AddNodes = "worker-0", true
			w.Desired.Spec.Spec.Hosts = w.Desired.Spec.Spec.Hosts[:3] // the worker is not wanted any more
			w.Dark = func(string) bool { return true }
			test.change(w)
			var alone, done []string
			var plan model.Plan
			for range 5 { // images are made in between
				plan = w.Decide()
				must.Do(t, decidetest.WellFormed(plan))
				for _, a := range plan.Actions {
					if a.Kind == model.InstallHost || a.Kind == model.UpdateHost {
						t.Errorf("%s of %s", a.Kind, a.Name)
					}
					w.Do(t, a)
				}
				w.Pass()
			}
			for _, b := range plan.Blockers {
				if b.Reason != "ControlPlaneUnaccounted" || b.Cure != test.cure ||
					!strings.Contains(b.Remedy.String(), "--accept-control-plane") {
					t.Errorf("blocker %+v", b)
				}
				alone = append(alone, b.Hosts...)
			}
			for _, wait := range plan.Waits {
				done = append(done, strings.TrimPrefix(string(wait.Scope), "host/"))
			}
			check.Equal(t, strings.Join(alone, " "), test.alone, "left alone")
			if got := strings.Join(done, " "); got != test.wanted {
				t.Errorf("waits for %q, want %q: %+v", got, test.wanted, plan.Waits)
			}
			if test.wanted == "" && len(w.Writes) > 0 {
				t.Errorf("writes %v", decidetest.Keys(w.Writes))
			}
		})
	}
}

// TestFastHostsAreNotHeldUp by one that is slower, that is blocked, or that
// no file named.
func TestFastHostsAreNotHeldUp(t *testing.T) {
	w := addingWorld(t)
	w.Host("host-worker-0").State = model.HostFailed // will not come
	w.Observed.InfraEnvs = append(w.Observed.InfraEnvs, laterEnv(w))
	stranger := decidetest.Machine("stranger", "52:54:00:ff:ff:ff", 90)
	stranger.Day2, stranger.State = true, model.HostReady
	w.Observed.Hosts = append(w.Observed.Hosts, stranger)
	plan := w.Decide()
	if strings.Join(decidetest.Keys(plan.Actions), " ") != "host/worker-1/install" {
		t.Errorf("actions %v", decidetest.Keys(plan.Actions))
	}
	if !slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool { return x.Reason == "UnknownHost" }) {
		t.Errorf("nobody is told of the stranger: %+v", plan.Warnings)
	}
}

// TestUnnamedNodes takes as many machines as the file counts, of those that it
// allows without naming them.
func TestUnnamedNodes(t *testing.T) {
	w := addingWorld(t)
	file := &w.Desired.Spec.Spec
	file.AcceptUnknownHosts, file.Hosts = true, file.Hosts[:4]
	other := decidetest.Machine("other", "52:54:00:ff:ff:fe", 91)
	other.Day2, other.State = true, model.HostReady
	w.Observed.Hosts = append(w.Observed.Hosts, other)
	plan := w.Decide()
	if strings.Join(decidetest.Keys(plan.Actions), " ") != "host/host-worker-1/install" || len(plan.Wipes) == 0 {
		t.Errorf("actions %v, wipes %v", decidetest.Keys(plan.Actions), plan.Wipes)
	}
	more := *file.Topology.Workers + 2
	file.Topology.Workers = &more
	plan = w.Decide()
	if len(plan.Actions) != 2 || !slices.ContainsFunc(plan.Waits,
		func(x model.Wait) bool { return strings.HasPrefix(x.For, "1 more hosts") }) {
		t.Errorf("actions %v, waits %+v", decidetest.Keys(plan.Actions), plan.Waits)
	}
}

// TestNodesNeedAnImage: where the cluster's own is gone, the further one is made for the
// version of the cluster, which is not compared with that of one that is there.
func TestNodesNeedAnImage(t *testing.T) {
	w := decidetest.Grown(t, false, spec.Host{Name: "w-5"})
	w.Observed.InfraEnvs[0].Settings[model.SettingVersion] = model.ValueOf("4.20")
	if err := w.Settle(); err != nil || w.Count(model.RegisterInfraEnv) > 0 {
		t.Errorf("%v: writes %v", err, decidetest.Keys(w.Writes))
	}
	w = decidetest.Grown(t, false, spec.Host{Name: "w-5"})
	w.Observed.InfraEnvs = nil
	if err := w.Settle(); err != nil || w.Count(model.RegisterInfraEnv) != 1 {
		t.Errorf("%v: writes %v", err, decidetest.Keys(w.Writes))
	}
}

// TestNodeThatRunsAnOldImage is not added before it booted the new one.
func TestNodeThatRunsAnOldImage(t *testing.T) {
	w := addingWorld(t)
	host := w.Host("host-worker-1")
	w.InfraEnv(host.InfraEnvID).Image.Created = w.Observed.At.Add(time.Second)
	plan := w.Decide()
	if len(plan.Actions) > 0 || len(plan.Waits) != 1 || plan.Waits[0].Key != "host/worker-1/new-image" {
		t.Errorf("before: %v, waits %+v", decidetest.Keys(plan.Actions), plan.Waits)
	}
	host.Registered = w.Observed.At.Add(time.Minute)
	if plan := w.Decide(); !decidetest.HasKind(plan, model.InstallHost) {
		t.Errorf("after: %v, waits %+v", decidetest.Keys(plan.Actions), plan.Waits)
	}
}
