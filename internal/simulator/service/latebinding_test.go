package service

import (
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// pooled is a bench with a cluster and n machines of an infra-env without one.
func pooled(t *testing.T, n int) *bench {
	t.Helper()
	b := compact(t, 0)
	b.infraEnv = b.must("POST", "/infra-envs", fields{"name": "pool", "pull_secret": pullSecret}).object()["id"].(string)
	for range n {
		b.boot()
	}
	b.pass(20 * time.Second)
	return b
}

func (m *machine) bind() answer {
	m.b.t.Helper()
	return m.b.must("POST", m.path()+"/actions/bind", fields{"cluster_id": m.b.cluster})
}

// TestBoundHost follows what was chosen for a host into a cluster and out of it.
func TestBoundHost(t *testing.T) {
	b := pooled(t, 1)
	m := b.machines[0]
	b.must("PATCH", m.path(), fields{"host_name": "cp-0", "host_role": model.RoleMaster, "disks_selected_config": []fields{{"id": "/dev/disk/by-id/b", "role": "install"}}})
	for _, tc := range []struct {
		body   any
		reason string
	}{
		{fields{"cluster_id": nobody}, "Failed to find cluster " + nobody},
		{nil, "bindHostParams in body is required"},
	} {
		if a := b.call("POST", m.path()+"/actions/bind", tc.body); a.status != 400 || a.reason() != tc.reason {
			t.Errorf("bind %v: %d %s", tc.body, a.status, a.text)
		}
	}
	holds := func(when string, host map[string]any, status string, want fields) {
		t.Helper()
		if host["status"] != status {
			t.Errorf("%s: the host is %v", when, host["status"])
		}
		for field, value := range want {
			if host[field] != value {
				t.Errorf("%s: %s is %v", when, field, host[field])
			}
		}
	}
	chosen := fields{"requested_hostname": "cp-0", "role": model.RoleMaster, "installation_disk_id": "/dev/disk/by-id/b", "cluster_id": b.cluster}
	holds("pooled", m.get(), model.HostKnownUnbound, fields{"requested_hostname": "cp-0", "role": model.RoleMaster})
	holds("bound", m.bind().object(), model.HostBinding, chosen)
	holds("bound", m.get(), model.HostBinding, fields{"inventory": nil})
	b.says("bound twice", "POST", m.path()+"/actions/bind", fields{"cluster_id": b.cluster}, 409, "Host "+m.id+" is already bound to cluster "+b.cluster)
	m.poll() // exits and registers again
	holds("started anew", m.get(), model.HostDiscovering, chosen)
	b.pass(40 * time.Second)
	holds("alone in the cluster", m.get(), model.HostInsufficient, chosen)

	lost := fields{"requested_hostname": "cp-0", "role": model.RoleAuto, "cluster_id": nil, "bootstrap": nil}
	holds("unbound", b.must("POST", m.path()+"/actions/unbind", nil).object(), model.HostUnbinding, lost)
	b.says("unbound twice", "POST", m.path()+"/actions/unbind", nil, 409, "Host "+m.id+" is already unbound")
	m.poll()
	holds("started anew", m.get(), model.HostDiscoveringUnbound, lost)
	b.pass(20 * time.Second)
	holds("back in the pool", m.get(), model.HostKnownUnbound, lost)
}

// TestUnboundWhilePreparing takes a host out of a cluster that is about to install:
// the service does so, and the cluster fails.
func TestUnboundWhilePreparing(t *testing.T) {
	b := pooled(t, 3)
	for _, m := range b.machines {
		m.bind()
	}
	b.until(model.ClusterReady)
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.inState(model.ClusterPreparing)
	gone := b.machines[1]
	b.must("POST", gone.path()+"/actions/unbind", nil)
	b.until(model.ClusterError)
	b.is(model.ClusterError, model.InfoHostsInError)
	b.pass(20 * time.Second)
	for _, m := range b.machines {
		if got := m.get(); m != gone && (got["status"] != model.HostError || got["status_info"] != model.InfoClusterFailed) {
			t.Errorf("%s is %v, %v", m.name, got["status"], got["status_info"])
		}
	}
	if got := gone.state(); strings.HasPrefix(got, model.HostInstalling) || got == model.HostError {
		t.Errorf("the host that was taken out is %s", got)
	}
}

// TestDeletedHostComesBack where its agent still runs: as a new one.
func TestDeletedHostComesBack(t *testing.T) {
	b := pooled(t, 1)
	m := b.machines[0]
	b.must("PATCH", m.path(), fields{"host_name": "cp-0", "host_role": model.RoleMaster})
	m.bind()
	b.pass(40 * time.Second)
	if a := b.must("DELETE", m.path(), nil); a.status != 204 {
		t.Errorf("deleted: %d", a.status)
	}
	b.answers("once deleted", "GET", m.path(), nil, 404)
	b.answers("its agent asks", "GET", m.path()+"/instructions", nil, 404)
	m.register()
	b.pass(20 * time.Second)
	if got := m.get(); got["status"] != model.HostKnownUnbound || got["role"] != model.RoleAuto || got["cluster_id"] != nil || got["requested_hostname"] != m.name {
		t.Errorf("back again: %v, %v in %v, named %v", got["status"], got["role"], got["cluster_id"], got["requested_hostname"])
	}
}
