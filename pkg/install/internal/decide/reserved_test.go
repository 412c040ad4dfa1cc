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

// A reserved host is bound, made what the file says in the same write, and never approved; beside it
// hosts come from images of their own and from a shared one.
func TestInstallWithReservedHosts(t *testing.T) {
	for _, hub := range []bool{false, true} {
		c := decidetest.WithOwn(decidetest.WithReserved(decidetest.Sample(3, 1), "cp-1", "worker-0"), map[string]string{"cp-2": "own"})
		w := decidetest.NewWorld(&model.Desired{Spec: c})
		w.Hub = hub
		w.Live(t, 40)
		if plan := w.Decide(); plan.Verdict != model.VerdictInstalled {
			t.Fatalf("hub %v: %s, waits %v, blockers %v", hub, plan.Message, plan.Waits, plan.Blockers)
		}
		var got []string
		for _, a := range w.Writes {
			if a.Name == "cp-1" || a.Name == "worker-0" {
				got = append(got, a.Key+" "+values(a.Settings))
			}
		}
		want := []string{"host/cp-1/bind map[role:\"control-plane\"]", "host/worker-0/bind map[role:\"worker\"]"}
		if !hub { // where it is bound, and nothing else
			want = append(want, "host/cp-1/update map[role:\"control-plane\"]", "host/worker-0/update map[role:\"worker\"]")
		}
		if !slices.Equal(got, want) {
			t.Errorf("hub %v: writes %v, want %v", hub, got, want)
		}
	}
}

// The result for a reservation that cannot be used.
func TestReservedHostsThatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *decidetest.World)
		reason string // of the blocker
		bound  bool
	}{
		"usable": {bound: true},
		"nobody has approved it": {reason: "AgentNotApproved", change: func(w *decidetest.World) {
			w.Host("host-cp-1").Settings[model.SettingApproved] = model.ValueOf(false)
		}},
		"nobody has approved it, and it was bound by somebody": {reason: "AgentNotApproved", change: func(w *decidetest.World) {
			h := w.Host("host-cp-1")
			h.Settings[model.SettingApproved], h.State, h.Status, h.ClusterID = model.ValueOf(false), model.HostReady, "known", "cluster-1"
		}},
		"a service that knows no approval": {bound: true, change: func(w *decidetest.World) {
			delete(w.Host("host-cp-1").Settings, model.SettingApproved)
		}},
		"the service does not have it": {reason: "AgentNotFound", change: func(w *decidetest.World) {
			w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-cp-1" })
		}},
		"it is another machine": {reason: "AgentNotFound", change: func(w *decidetest.World) {
			w.Desired.Spec.Host("cp-1").Match.Serial = "another"
		}},
		"it is another machine, and strangers are accepted": {reason: "AgentNotFound", change: func(w *decidetest.World) {
			w.Desired.Spec.Host("cp-1").Match.Serial, w.Desired.Spec.Spec.AcceptUnknownHosts = "another", true
			workers := 1
			w.Desired.Spec.Spec.Topology.Workers = &workers
		}},
		"another cluster has it": {reason: "BoundElsewhere", change: func(w *decidetest.World) {
			h := *w.Host("host-cp-1")
			h.ClusterID = "another"
			w.Observed.Hosts = slices.DeleteFunc(w.Observed.Hosts, func(h model.Host) bool { return h.ID == "host-cp-1" })
			w.Observed.Elsewhere = []model.HostElsewhere{{Host: h, ClusterName: "prod"}}
		}},
		"it does not answer": {reason: "HostDisconnected", change: func(w *decidetest.World) {
			w.Host("host-cp-1").Status = "disconnected-unbound"
		}},
		"its disk is not what the file says": {reason: "DiskHints", change: func(w *decidetest.World) {
			w.Desired.Spec.Host("cp-1").Disk.Hints.DeviceName = "/dev/none"
		}},
	} {
		w := decidetest.NewWorld(&model.Desired{Spec: decidetest.WithReserved(decidetest.Sample(3, 0), "cp-1")})
		w.Hub, w.Dark = true, func(string) bool { return true }
		w.Live(t, 2)
		h := w.Host("host-cp-1")
		h.Settings[model.SettingApproved], h.State, h.Status, h.ClusterID = model.ValueOf(true), model.HostUnbound, "known-unbound", ""
		if test.change != nil {
			test.change(w)
		}
		plan := w.Decide()
		reason := ""
		if len(plan.Blockers) > 0 {
			reason = plan.Blockers[0].Reason
		}
		if reason != test.reason || decidetest.HasKind(plan, model.BindHost) != test.bound || decidetest.HasKind(plan, model.UpdateHost) {
			t.Errorf("%s: actions %v, blockers %+v", name, decidetest.Keys(plan.Actions), plan.Blockers)
		}
	}
}

// A worker that is not required is waited for, and holds nothing up.
func TestReservedWorkerThatIsNotRequired(t *testing.T) {
	c, none := decidetest.WithReserved(decidetest.Sample(3, 1), "worker-0"), 0
	c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(time.Hour)}
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Absent = "worker-0"
	w.Live(t, 4)
	plan := w.Decide()
	if len(plan.Blockers) > 0 || !slices.ContainsFunc(plan.Waits,
		func(x model.Wait) bool { return strings.Contains(x.For, "there is no host pool/host-worker-0") }) {
		t.Errorf("waits %+v, blockers %+v", plan.Waits, plan.Blockers)
	}
}

// A reserved host that joins an installed cluster of a hub is installed by being bound: then it is
// what the file says already, and its disk was named.
func TestAddingAReservedHost(t *testing.T) {
	for _, hub := range []bool{false, true} {
		w := decidetest.InstalledWithout(t, decidetest.Sample(3, 2), hub)
		decidetest.WithReserved(w.Desired.Spec, "worker-1").Host("worker-1").Hostname = "named"
		w.Desired.Options.AddNodes, w.Observed.Cluster.State = true, model.ClusterAddingHosts
		if plan := w.Decide(); len(plan.Blockers) != 1 || plan.Blockers[0].Reason != "AgentNotFound" {
			t.Errorf("hub %v, before it is there: %+v", hub, plan.Blockers)
		}
		w.Absent = ""
		bound, wiped := false, false
		for range 40 {
			plan := w.Decide()
			for _, a := range plan.Actions {
				if a.Kind == model.BindHost {
					bound = true
					if hub != a.Destructive || a.Settings[model.SettingHostname].Text() != "named" {
						t.Errorf("hub %v: bound with %v, destroys %v", hub, a.Settings, a.Destructive)
					}
				}
				if a.Kind == model.BindHost && hub || a.Kind == model.InstallHost {
					wiped = slices.ContainsFunc(plan.Wipes, func(x model.Wipe) bool { return x.Host == "worker-1" && x.Install })
				}
				if a.Kind == model.RegisterInfraEnv || hub && a.Kind == model.InstallHost {
					t.Errorf("hub %v: %s", hub, a.Key)
				}
				w.Do(t, a)
			}
			if len(plan.Actions) == 0 {
				w.Pass()
			}
		}
		if plan := w.Decide(); !bound || !wiped || plan.Verdict != model.VerdictInstalled ||
			!slices.Equal(plan.Added, []string{"worker-1"}) {
			t.Errorf("hub %v: bound %v, wiped %v, %+v", hub, bound, wiped, plan)
		}
	}
}
