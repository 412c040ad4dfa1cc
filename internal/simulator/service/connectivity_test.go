package service

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		}, pending, passed},
		"the control plane gets another size": {2, 3, func(b *bench) {
			for _, m := range b.machines {
				b.must("PATCH", m.path(), fields{"host_role": "master", "fencing_credentials": fields{"address": "redfish+https://10.0.0.1", "username": "u", "password": "p"}})
			}
			b.must("PATCH", "/clusters/"+b.cluster, fields{"control_plane_count": 2})
		}, pending, passed},
		"a host leaves": {3, 3, func(b *bench) {
			last := b.machines[2]
			last.silent = true
			b.must("DELETE", last.path(), nil)
		}, passed, pending},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.make(fields{"api_vips": []fields{{"ip": "10.0.0.100"}}, "ingress_vips": []fields{{"ip": "10.0.0.101"}}, "control_plane_count": tc.controlPlane})
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
	b := newBench(t, nil)
	b.compact(3)
	b.until(clusterReady)
	c := b.s.clusters[b.cluster]
	for state, looked := range map[string]bool{
		clusterInsufficient: true, clusterPendingInput: true, clusterReady: true,
		clusterPreparing: false, clusterInstalling: false, clusterAddingHosts: false,
	} {
		c.Status, c.ConnectivityGroups = state, ""
		c.updateGroupsAndCollisions()
		if got := c.ConnectivityGroups != ""; got != looked {
			t.Errorf("%s: looked at %t", state, got)
		}
	}
}

// TestCollisions are those that a single host sees behind one of its network cards.
func TestCollisions(t *testing.T) {
	sees := func(id string, answers ...l2Result) *host {
		h := &host{peers: map[string]remoteHost{}}
		h.ID, h.Connectivity = id, "reported"
		for i, a := range answers {
			h.peers[string(rune('x'+i))] = remoteHost{L2: []l2Result{a}}
		}
		return h
	}
	answer := func(nic, mac string) l2Result {
		return l2Result{OutgoingNIC: nic, RemoteIP: "10.0.0.1", RemoteMAC: mac}
	}
	collision := map[string][]string{"10.0.0.1": {"m1", "m2"}}
	for name, tc := range map[string]struct {
		hosts []*host
		want  map[string][]string
	}{
		"two cards answer":            {[]*host{sees("a", answer("eth0", "m2"), answer("eth0", "m1"))}, collision},
		"one answers twice":           {[]*host{sees("a", answer("eth0", "m1"), answer("eth0", "m1"))}, map[string][]string{}},
		"in two networks":             {[]*host{sees("a", answer("eth0", "m1"), answer("eth1", "m2"))}, map[string][]string{}},
		"two hosts see one each":      {[]*host{sees("a", answer("eth0", "m1")), sees("b", answer("eth0", "m2"))}, map[string][]string{}},
		"only the first host sees":    {[]*host{sees("a", answer("eth0", "m1"), answer("eth0", "m2")), sees("b", answer("eth0", "m1"))}, map[string][]string{}},
		"the last one has not spoken": {[]*host{sees("a", answer("eth0", "m1"), answer("eth0", "m2")), {}}, collision},
	} {
		c := &cluster{hosts: tc.hosts}
		c.findCollisions()
		if diff := cmp.Diff(tc.want, c.collisions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
