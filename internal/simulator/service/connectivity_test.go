package service

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
)

// TestGroupsFollowWhatTheyRestOn changes, after connectivity was reported, each thing
// that the groups depend on: the hosts are judged by the groups as they are then.
func TestGroupsFollowWhatTheyRestOn(t *testing.T) {
	const id = "belongs-to-majority-group"
	for name, tc := range map[string]struct {
		hosts, controlPlane int
		change              func(*bench)
		before, after       string
	}{
		"fencing is set": {2, 2, func(b *bench) {
			for _, m := range b.machines {
				b.must("PATCH", m.path(), fields{"host_role": "master", "fencing_credentials": fields{"address": "redfish+https://10.0.0.1", "username": "u", "password": "p"}})
			}
		}, model.Pending, model.Passed},
		"the control plane gets another size": {2, 3, func(b *bench) {
			for _, m := range b.machines {
				b.must("PATCH", m.path(), fields{"host_role": "master", "fencing_credentials": fields{"address": "redfish+https://10.0.0.1", "username": "u", "password": "p"}})
			}
			b.must("PATCH", "/clusters/"+b.cluster, fields{"control_plane_count": 2})
		}, model.Pending, model.Passed},
		"a host leaves": {3, 3, func(b *bench) {
			last := b.machines[2]
			last.silent = true
			b.must("DELETE", last.path(), nil)
		}, model.Passed, model.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			b := madeBench(t, fields{"api_vips": []fields{{"ip": "10.0.0.100"}}, "ingress_vips": []fields{{"ip": "10.0.0.101"}}, "control_plane_count": tc.controlPlane})
			for range tc.hosts {
				b.boot()
			}
			b.pass(2 * time.Minute)
			if got := outcomes(t, b.machines[0].get())[id]; got[0] != tc.before {
				t.Fatalf("before: %v", got)
			}
			tc.change(b)
			b.pass(2 * time.Minute)
			if got := outcomes(t, b.machines[0].get())[id]; got[0] != tc.after {
				t.Errorf("after: %v", got)
			}
		})
	}
}

// TestGroupsStandStill once hosts prepare: neither the groups nor the collisions are
// looked at again, also not where hosts are added later.
func TestGroupsStandStill(t *testing.T) {
	b := ready(t, 3)
	c := b.s.records.clusters.of(b.cluster)
	for state, looked := range map[string]bool{
		model.ClusterInsufficient: true, model.ClusterPendingInput: true, model.ClusterReady: true,
		model.ClusterPreparing: false, model.ClusterInstalling: false, model.ClusterAddingHosts: false,
	} {
		c.Status, c.ConnectivityGroups = state, ""
		validate.UpdateGroupsAndCollisions(c)
		if got := c.ConnectivityGroups != ""; got != looked {
			t.Errorf("%s: looked at %t", state, got)
		}
	}
}

// TestNullEntries: a null entry of a list is none, wherever an agent says it, and nothing that
// it says ends the service.
func TestNullEntries(t *testing.T) {
	b := compact(t, 3)
	b.pass(time.Minute)
	peer := `{"host_id":"` + b.machines[1].id + `","l2_connectivity":[null],"l3_connectivity":[ null ],"mtu_report":[null]}`
	for step, output := range map[string]string{
		steps.StepConnectivity: `{"remote_hosts":[null,` + peer + `]}`,
		steps.StepFreeAddress:  `[null]`,
		steps.StepDomains:      `{"resolutions":[null]}`,
		steps.StepInventory:    strings.NewReplacer(`"interfaces":[`, `"interfaces":[null,`, `"disks":[`, `"disks":[null,`).Replace(b.machines[0].inventory()),
	} {
		b.must("POST", b.machines[0].path()+"/instructions", fields{"step_id": step + "-1", "step_type": step, "exit_code": 0, "output": output})
		b.pass(time.Minute)
	}
}
