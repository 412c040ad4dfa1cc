package service

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestRolesAreGivenBeforeAnInstallIsRefused for good, and the cluster is looked at.
func TestRolesAreGivenBeforeAnInstallIsRefused(t *testing.T) {
	b := compact(t, 3)
	b.pass(20 * time.Second)
	b.must("PATCH", b.machines[0].path(), fields{"host_name": "localhost-0", "host_role": "master"})
	b.machines[1].name = "localhost"
	b.until(model.ClusterInsufficient)
	b.pass(time.Minute)
	a := b.call("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	if want := "Host localhost is in status insufficient and not ready for install"; a.status != 400 || a.reason() != want {
		t.Errorf("%d %s", a.status, a.text)
	}
	for _, m := range b.machines {
		if role := m.get()["role"]; role != model.RoleMaster {
			t.Errorf("%s is %v", m.name, role)
		}
	}
	a = b.call("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	if a.status != 409 || !strings.HasPrefix(a.reason(), "Cluster is not ready for installation") {
		t.Errorf("once all roles are given: %d %s", a.status, a.text)
	}
}

// TestChangedHostIsJudgedByItsFormerRole until the monitor looks at it.
func TestChangedHostIsJudgedByItsFormerRole(t *testing.T) {
	b := compact(t, 2)
	b.machines[1].silent = true // so that no role is suggested
	b.pass(20 * time.Second)
	const check = "has-cpu-cores-for-role"
	changed := b.must("PATCH", b.machines[0].path(), fields{"host_role": "worker", "host_name": "w"}).object()
	if got := outcomes(t, changed)[check][1]; got != "Sufficient CPU cores for role auto-assign" || changed["role"] != model.RoleWorker {
		t.Errorf("%v: %s", changed["role"], got)
	}
	if got := outcomes(t, changed)["hostname-unique"][1]; got != "Hostname w is unique in cluster" {
		t.Error(got)
	}
	b.pass(10 * time.Second)
	if got := outcomes(t, b.machines[0].get())[check][1]; got != "Sufficient CPU cores for role worker" {
		t.Error(got)
	}
}

// TestHostChangeComputesNoGroups: the monitor does, and a change of the cluster.
func TestHostChangeComputesNoGroups(t *testing.T) {
	b := compact(t, 3)
	b.pass(10 * time.Second)
	for range 3 {
		for _, m := range b.machines {
			m.poll() // they meet
		}
	}
	groups := func() bool {
		text, _ := b.get()["connectivity_majority_groups"].(string)
		return strings.Contains(text, b.machines[0].id)
	}
	b.must("PATCH", b.machines[0].path(), fields{"host_role": "master"})
	if groups() {
		t.Error("a change of a host computes the groups")
	}
	b.must("PATCH", "/clusters/"+b.cluster, fields{"tags": "x"})
	if !groups() {
		t.Error("a change of the cluster does not compute the groups")
	}
}

// TestHostThatLeavesRejudgesItsCluster at once.
func TestHostThatLeavesRejudgesItsCluster(t *testing.T) {
	b := ready(t, 3)
	b.must("DELETE", b.machines[2].path(), nil)
	b.is(model.ClusterInsufficient, model.InfoNotReady)
}

// TestForcedScheduling follows the hosts that come and go and the monitor, not a role.
func TestForcedScheduling(t *testing.T) {
	b := compact(t, 5)
	b.pass(20 * time.Second)
	forced := func(what string, want bool) {
		t.Helper()
		if got := b.get()["schedulable_masters_forced_true"]; got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	forced("three and two", false)
	b.must("PATCH", b.machines[4].path(), fields{"host_role": "master"})
	b.must("PATCH", b.machines[3].path(), fields{"host_role": "master"})
	forced("after two changes of roles", false)
	b.s.tick()
	forced("at the next look of the monitor", true)
}

// TestWeakHostsAreNoControlPlane as long as they have no role.
func TestWeakHostsAreNoControlPlane(t *testing.T) {
	b := compact(t, 3)
	b.machines[1].cpus = 2
	for range 2 {
		for _, m := range b.machines {
			m.poll()
		}
	}
	b.s.tick() // the cluster is looked at before roles are suggested
	if got := outcomes(t, b.get())["sufficient-masters-count"][0]; got != model.Failed {
		t.Errorf("two strong hosts and a weak one: %s", got)
	}
}
