package nodeplan_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// refused follows a world to its end, and says by which blocker it came to it without having
// written anything.
func refused(t *testing.T, w *decidetest.World) model.Blocker {
	t.Helper()
	w.Writes = nil
	w.Live(t, 6)
	plan := w.Decide()
	if len(plan.Blockers) != 1 || plan.Fault == nil || model.FaultOf(plan.Fault).Code != model.CodeInput || len(w.Writes) > 0 ||
		len(plan.Waits) > 0 {
		t.Fatalf("blockers %+v, waits %+v, fault %v, writes %v", plan.Blockers, plan.Waits, plan.Fault, decidetest.Keys(w.Writes))
	}
	return plan.Blockers[0]
}

// TestMachineOfTheCluster: a machine that is part of the cluster already is refused under another name, before anything
// is written and before the user is asked to boot it.
func TestMachineOfTheCluster(t *testing.T) {
	for name, test := range map[string]struct {
		host   spec.Host
		change func(*decidetest.World)
		want   string
	}{
		"recorded by the service": {
			spec.Host{Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:00:00"}}, func(*decidetest.World) {},
			"the file describes w-5 with values that match cp-0 (MAC 52:54:00:00:00:00, serial SNcp-0), a machine that is already installed in this cluster",
		},
		"added by another file": {spec.Host{Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:04:04"}}, func(w *decidetest.World) {
			earlier := decidetest.Machine("w-4", "52:54:00:00:04:04", 44)
			earlier.Day2, earlier.State, earlier.Hostname, earlier.Settings[model.SettingHostname] = true, model.HostAdded, "w-4",
				model.ValueOf("w-4")
			w.Observed.Hosts = append(w.Observed.Hosts, earlier)
		}, "match w-4 (MAC 52:54:00:00:04:04"},
		"a node's machine": {spec.Host{Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:07:07"}}, func(w *decidetest.World) {
			w.Spoke.Seen.Nodes = []model.Node{{Name: "w-7", Created: decidetest.Start(), Ready: true}}
			w.Spoke.Seen.Machines = []model.Machine{{Name: "m-7", Node: "w-7"}}
			w.Spoke.Seen.BareMetalHosts = []model.BareMetalHost{{Name: "rack-7", MAC: "52:54:00:00:07:07", Consumer: "m-7"}}
		}, "the same as the node w-7 (BareMetalHost rack-7) of the cluster"},
		"a node's address": {spec.Host{Name: "w-5", Net: &spec.HostNet{IP: "192.168.127.77/24"}}, func(w *decidetest.World) {
			w.Spoke.Seen.Nodes = []model.Node{{Name: "w-7", Created: decidetest.Start(), Ready: true,
				Addresses: []netip.Addr{netip.MustParseAddr("192.168.127.77")}}}
		}, "w-5 has the address 192.168.127.77 in its settings, but this address belongs to the node w-7"},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.Grown(t, false, test.host)
			w.Spoke = decidetest.NewSpoke()
			test.change(w)
			if got := refused(t, w); !strings.Contains(got.Message, test.want) {
				t.Errorf("blocked by %s", got.Message)
			}
		})
	}
}

// TestCannotJoin: a host that cannot become a node is named before it boots, and held.
func TestCannotJoin(t *testing.T) {
	w := decidetest.InstalledWithout(t, decidetest.Sample(3, 2), false)
	w.Absent, w.Desired.Options.AddNodes, w.Spoke = "", true, decidetest.NewSpoke()
	w.Spoke.Seen.Nodes = []model.Node{{Name: "worker-1", Created: decidetest.Start()}}
	for range 10 {
		_ = w.Settle()
		w.Pass()
	}
	plan := w.Decide()
	if len(plan.Blockers) != 1 || plan.Blockers[0].Reason != "NodeNameTaken" || plan.Fault == nil ||
		model.FaultOf(plan.Fault).Code != model.CodeInput {
		t.Errorf("blockers %+v, fault %v", plan.Blockers, plan.Fault)
	}
	for _, a := range w.Writes {
		if a.Kind == model.InstallHost {
			t.Error("the host is installed nevertheless")
		}
	}
}
