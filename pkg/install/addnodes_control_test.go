package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// lose takes the service's records of hosts away.
func (w *world) lose(names ...string) {
	w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool {
		return slices.Contains(names, strings.TrimPrefix(h.ID, "host-"))
	})
}

// returned registers a machine of the file once more, from an image for hosts that
// are added.
func (w *world) returned(name string) {
	i := slices.IndexFunc(w.desired.Spec.Spec.Hosts, func(h spec.Host) bool { return h.Name == name })
	host := machine(name, w.desired.Spec.Spec.Hosts[i].Match.MAC, i)
	host.ID, host.Day2, host.State, host.Role, host.InfraEnvID = "again-"+name, true, model.HostReady, spec.ControlPlane, w.observed.InfraEnvs[0].ID
	host.Settings = model.Settings{model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf(name)}
	w.observed.Hosts = append(w.observed.Hosts, host)
}

// TestControlPlaneIsNotInstalledAgain where the service has lost the records of it.
func TestControlPlaneIsNotInstalledAgain(t *testing.T) {
	spare := spec.Host{Name: "cp-3", Role: spec.ControlPlane, Match: spec.Match{MAC: "52:54:00:00:00:33"}}
	for name, test := range map[string]struct {
		change func(*world)
		alone  string // hosts that are left alone
		wanted string // of whom something is done or waited for
		cure   model.Cure
	}{
		"a record is lost": {func(w *world) { w.lose("cp-0") }, "cp-0", "", model.CureNow},
		"all records are lost, while a worker is added": {func(w *world) {
			w.lose("cp-0", "cp-1", "cp-2")
			w.observed.Cluster.State = model.ClusterAddingHosts
			w.desired.Spec.Spec.Hosts = append(w.desired.Spec.Spec.Hosts, spec.Host{Name: "worker-9", Role: spec.Worker, Match: spec.Match{MAC: "52:54:00:00:01:99"}})
		}, "cp-0 cp-1 cp-2", "worker-9", model.CurePerson},
		"one that has registered again": {func(w *world) {
			w.lose("cp-1")
			w.returned("cp-1")
			w.observed.Cluster.State = model.ClusterAddingHosts
		}, "cp-1", "", model.CureNow},
		"a lost record, and a new machine": {func(w *world) {
			w.lose("cp-1")
			w.desired.Spec.Spec.Hosts = append(w.desired.Spec.Spec.Hosts, spare)
		}, "cp-1 cp-3", "", model.CureNow},
		"a machine without a role": {func(w *world) {
			w.lose("cp-1")
			w.desired.Spec.Spec.Hosts[1].Role = spec.Auto
		}, "cp-1", "", model.CureNow},
		"one more than was installed": {func(w *world) {
			w.observed.Cluster.State = model.ClusterAddingHosts
			w.desired.Spec.Spec.Hosts = append(w.desired.Spec.Spec.Hosts, spare)
		}, "", "cp-3", ""},
		"another machine in the place of one": {func(w *world) {
			w.observed.Cluster.State = model.ClusterAddingHosts
			w.desired.Spec.Spec.Hosts[2] = spare
		}, "", "cp-3", ""},
		"one that the install lost": {func(w *world) {
			w.observed.Cluster.State = model.ClusterAddingHosts
			w.host("host-cp-0").State = model.HostFailed
		}, "", "cp-0", ""},
		"permitted": {func(w *world) {
			w.lose("cp-0")
			w.observed.Cluster.State = model.ClusterAddingHosts
			w.desired.Options.AcceptControlPlane = true
		}, "", "cp-0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := installedWithout(t, sample(3, 1), false)
			w.absent, w.desired.Options.AddNodes = "worker-0", true
			w.desired.Spec.Spec.Hosts = w.desired.Spec.Spec.Hosts[:3] // the worker is not wanted any more
			w.dark = func(string) bool { return true }
			test.change(w)
			var alone, done []string
			var plan model.Plan
			for range 5 { // images are made in between
				plan = w.decide()
				if err := wellFormed(plan); err != nil {
					t.Fatal(err)
				}
				for _, a := range plan.Actions {
					if a.Kind == model.InstallHost || a.Kind == model.UpdateHost {
						t.Errorf("%s of %s", a.Kind, a.Name)
					}
					if err := w.apply(a); err != nil {
						t.Fatal(err)
					}
				}
				w.pass()
			}
			for _, b := range plan.Blockers {
				if b.Reason != "ControlPlaneUnaccounted" || b.Cure != test.cure || !strings.Contains(b.Remedy.String(), "--accept-control-plane") {
					t.Errorf("blocker %+v", b)
				}
				alone = append(alone, b.Hosts...)
			}
			for _, wait := range plan.Waits {
				done = append(done, strings.TrimPrefix(string(wait.Scope), "host/"))
			}
			if got := strings.Join(alone, " "); got != test.alone {
				t.Errorf("left alone: %q, want %q", got, test.alone)
			}
			if got := strings.Join(done, " "); got != test.wanted {
				t.Errorf("waits for %q, want %q: %+v", got, test.wanted, plan.Waits)
			}
			if test.wanted == "" && len(w.writes) > 0 {
				t.Errorf("writes %v", keys(w.writes))
			}
		})
	}
}
