package decide_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestNodesBesideLostRecords: the number of hosts that the service says were installed decides whether a machine of the
// control plane may be one of the cluster's own.
func TestNodesBesideLostRecords(t *testing.T) {
	for name, test := range map[string]struct {
		role  spec.Role
		lost  string
		known bool // the service says how many machines the control plane has
		alone bool
	}{
		"worker": {spec.Worker, "cp-0", true, false}, "control plane": {spec.ControlPlane, "cp-0", true, true},
		"any":                   {spec.Auto, "cp-0", true, true},
		"nobody knows how many": {spec.ControlPlane, "cp-0", false, false}, "no records at all": {spec.Auto, "cp-0 cp-1 cp-2", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.Grown(t, false, spec.Host{Name: "w-5", Role: test.role})
			w.Lose(strings.Fields(test.lost)...)
			if !test.known {
				delete(w.Observed.Cluster.Settings, model.SettingControlPlane)
			}
			if plan := w.Decide(); decidetest.HasReason(plan, "ControlPlaneUnaccounted") != test.alone {
				t.Errorf("plan %+v", plan)
			}
		})
	}
}

// TestHostThatIsLeftAlone may be the next that is added: no flags say of it that it is to be deleted, and the advice says
// what adds it.
func TestHostThatIsLeftAlone(t *testing.T) {
	flags := map[string]string{"spec.hosts[0].name": "--name", "spec.hosts[0].match.mac": "--mac"}
	for name, test := range map[string]struct {
		words         map[string]string
		message, next string
	}{
		"beside a file": {nil, "w-6 (MAC 52:54:00:00:04:06, serial SNw-6) registered, but the file does not name it; oaictl does nothing with it",
			"to add it too, add it to spec.hosts; only if it does not belong to this cluster, power it off and `oaictl delete host host-w-6 --yes`"},
		"beside flags": {flags, "w-6 (MAC 52:54:00:00:04:06, serial SNw-6) registered, but the command line does not name it; oaictl does nothing with it",
			"to add it too: oaictl add-node --cluster lab --name w-6 --mac 52:54:00:00:04:06"},
	} {
		t.Run(name, func(t *testing.T) {
			w := decidetest.Grown(t, false, spec.Host{Name: "w-5"})
			w.Desired.Spec = decidetest.GivenBy(t, test.words, spec.Host{Name: "w-5"})
			other := decidetest.Machine("w-6", "52:54:00:00:04:06", 46)
			other.Day2, other.State, other.Hostname = true, model.HostReady, "w-6"
			w.Observed.Hosts = append(w.Observed.Hosts, other)
			plan := w.Decide()
			for range 12 {
				if len(plan.Warnings) > 0 {
					break
				}
				w.Rest(t)
				w.Pass()
				plan = w.Decide()
			}
			if len(plan.Warnings) != 1 || plan.Warnings[0].Message != test.message || plan.Warnings[0].Next.String() != test.next {
				t.Errorf("got %+v", plan.Warnings)
			}
		})
	}
}
