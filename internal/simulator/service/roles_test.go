package service

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// suggested tells what is suggested to each machine, in the order of their boot.
func (b *bench) suggested() string {
	b.t.Helper()
	var roles []string
	for _, m := range b.machines {
		role, _ := m.get()["suggested_role"].(string)
		roles = append(roles, role)
	}
	return strings.Join(roles, " ")
}

// TestSuggestedRoles follows what the hosts are: the lightest that are strong enough are
// the control plane, whenever that changes, and no host has a role until all have sent
// their inventories.
func TestSuggestedRoles(t *testing.T) {
	b := madeBench(t, one4("10.0.0.100", "10.0.0.101"))
	says := func(what, want string) {
		t.Helper()
		if diff := cmp.Diff(want, b.suggested()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for _, cpus := range []int{64, 16, 2, 8} {
		b.boot().cpus = cpus
	}
	mute := b.machines[3]
	mute.silent = true
	b.pass(30 * time.Second)
	says("one has said nothing yet", "auto-assign auto-assign auto-assign auto-assign")
	mute.silent = false
	b.pass(time.Minute)
	says("all have", "master master worker master")

	inventory := b.s.records.hosts.of(b.infraEnv + "/" + b.machines[1].id).Inv
	inventory.CPU.Count = 2
	b.later(10 * time.Second)
	says("one has shrunk, and no other is strong enough", "master worker worker master")
	inventory.CPU.Count = 128
	b.later(10 * time.Second)
	says("it has grown", "master master worker master")

	late := b.boot()
	late.cpus = 16
	b.later(10 * time.Second)
	says("another one came", "auto-assign auto-assign auto-assign auto-assign auto-assign")
	b.pass(time.Minute)
	says("and is lighter than the first", "worker master worker master master")

	b.must("PATCH", "/clusters/"+b.cluster, fields{"olm_operators": []fields{{"name": "lso"}}})
	says("operators have changed", "auto-assign auto-assign auto-assign auto-assign auto-assign")
	b.must("PATCH", b.machines[2].path(), fields{"host_role": "worker"})
	b.later(10 * time.Second)
	says("and one has its role", "worker master worker master master")
}
