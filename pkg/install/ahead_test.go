package install_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// refused follows a world to its end, and says by which blocker it came to it without having
// written anything.
func refused(t *testing.T, w *world) model.Blocker {
	t.Helper()
	w.writes = nil
	for range 6 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	plan := w.decide()
	if len(plan.Blockers) != 1 || plan.Fault == nil || model.CodeOf(plan.Fault) != model.CodeInput || len(w.writes) > 0 || len(plan.Waits) > 0 {
		t.Fatalf("blockers %+v, waits %+v, fault %v, writes %v", plan.Blockers, plan.Waits, plan.Fault, keys(w.writes))
	}
	return plan.Blockers[0]
}

// TestMachineOfTheCluster: a machine that is part of the cluster already is refused under
// another name, before anything is written and before anybody is told to boot it.
func TestMachineOfTheCluster(t *testing.T) {
	for name, test := range map[string]struct {
		host   spec.Host
		change func(*world)
		want   string
	}{
		"recorded by the service": {
			spec.Host{Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:00:00"}}, func(*world) {},
			"what the file says of w-5 fits cp-0 (MAC 52:54:00:00:00:00, serial SNcp-0), a machine that was installed for this cluster already",
		},
		"added by another file": {spec.Host{Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:04:04"}}, func(w *world) {
			earlier := machine("w-4", "52:54:00:00:04:04", 44)
			earlier.Day2, earlier.State, earlier.Hostname, earlier.Settings[model.SettingHostname] = true, model.HostAdded, "w-4", model.ValueOf("w-4")
			w.observed.Hosts = append(w.observed.Hosts, earlier)
		}, "fits w-4 (MAC 52:54:00:00:04:04"},
		"a node's machine": {spec.Host{Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:07:07"}}, func(w *world) {
			w.spoke.seen.Nodes = []model.Node{{Name: "w-7", Created: start, Ready: true}}
			w.spoke.seen.Machines = []model.Machine{{Name: "m-7", Node: "w-7"}}
			w.spoke.seen.BareMetalHosts = []model.BareMetalHost{{Name: "rack-7", MAC: "52:54:00:00:07:07", Consumer: "m-7"}}
		}, "which is that of the node w-7 (BareMetalHost rack-7) of the cluster"},
		"a node's address": {spec.Host{Name: "w-5", Net: &spec.HostNet{IP: "192.168.127.77/24"}}, func(w *world) {
			w.spoke.seen.Nodes = []model.Node{{Name: "w-7", Created: start, Ready: true, Addresses: []netip.Addr{netip.MustParseAddr("192.168.127.77")}}}
		}, "w-5 is given the address 192.168.127.77, which is that of the node w-7"},
	} {
		t.Run(name, func(t *testing.T) {
			w := grown(t, false, test.host)
			w.spoke = newSpokeModel()
			test.change(w)
			if got := refused(t, w); !strings.Contains(got.Message, test.want) {
				t.Errorf("blocked by %s", got.Message)
			}
		})
	}
}

// TestOthersApproveToo: who wants to say yes to each request is told at the start who else does.
func TestOthersApproveToo(t *testing.T) {
	for _, mode := range []model.Approve{model.ApproveAuto, model.ApproveAsk, model.ApproveOff} {
		w := grown(t, false, spec.Host{Name: "w-5"})
		w.spoke = newSpokeModel()
		w.spoke.seen.MachineAPI, w.spoke.seen.Machines = true, []model.Machine{{Name: "m-0", Node: "cp-0"}}
		w.desired.Options.Approve = mode
		told := 0
		for _, warning := range w.decide().Warnings {
			if warning.Reason == "OthersApprove" && strings.Contains(warning.Message, "machine-approver") {
				told++
			}
		}
		if want := map[model.Approve]int{model.ApproveAsk: 1, model.ApproveOff: 1}[mode]; told != want {
			t.Errorf("--approve %s: told %d times", mode, told)
		}
	}
}
