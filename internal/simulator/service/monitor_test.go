package service

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestHostsSeeTheNetworksOfBeforeALook as they see the rest of their cluster, unless the
// loop for clusters was through first.
func TestHostsSeeTheNetworksOfBeforeALook(t *testing.T) {
	for name, tc := range map[string]struct {
		asked      fields
		hostsLater bool
		id, want   string
	}{
		"hosts first":              {one4("10.0.0.100", "10.0.0.101"), false, "machine-cidr-defined", model.Failed},
		"clusters first":           {one4("10.0.0.100", "10.0.0.101"), true, "machine-cidr-defined", model.Passed},
		"a single node first":      {fields{"control_plane_count": 1}, false, "belongs-to-machine-cidr", model.Pending},
		"the single node is later": {fields{"control_plane_count": 1}, true, "belongs-to-machine-cidr", model.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.s.monitor.hostsLater = tc.hostsLater
			b.make(tc.asked)
			b.s.tick()
			m := b.boot()
			b.pass(10 * time.Second)
			if got := outcomes(t, m.get())[tc.id]; got[0] != tc.want {
				t.Errorf("at its first look: %q", got)
			}
			b.pass(10 * time.Second)
			if got := outcomes(t, m.get())[tc.id]; got[0] != model.Passed {
				t.Errorf("at its second: %q", got)
			}
		})
	}
}

// TestLonelyHostIsInNoMajority where the cluster is to have more.
func TestLonelyHostIsInNoMajority(t *testing.T) {
	for name, tc := range map[string]struct {
		asked fields
		hosts int
		want  [2]string
	}{
		"one host":       {one4("10.0.0.100", "10.0.0.101"), 1, [2]string{model.Pending, "Not enough hosts in cluster to calculate connectivity groups"}},
		"no network yet": {fields{}, 3, [2]string{model.Pending, "Not enough information to calculate host majority groups"}},
		"a single node":  {fields{"control_plane_count": 1}, 1, [2]string{model.Passed, "Host has connectivity to the majority of hosts in the cluster"}},
		"two that reach each other over the user's network": {fields{"user_managed_networking": true, "platform": fields{"type": "none"}}, 2, [2]string{model.Passed, "Host has connectivity to the majority of hosts in the cluster"}},
		"one in the user's network":                         {fields{"user_managed_networking": true, "platform": fields{"type": "none"}}, 1, [2]string{model.Pending, "Not enough hosts in cluster to calculate connectivity groups"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := madeBench(t, tc.asked)
			for range tc.hosts {
				b.boot()
			}
			b.pass(time.Minute)
			if got := outcomes(t, b.machines[0].get())["belongs-to-majority-group"]; got != tc.want {
				t.Errorf("%q", got)
			}
		})
	}
}
