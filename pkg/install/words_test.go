package install_test

import (
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
)

// What the service calls insufficient is three things.
func TestRefined(t *testing.T) {
	checks := []install.Validation{{ID: "x", Status: "failure"}}
	discovering, known := []install.Host{{State: install.HostDiscovering}}, []install.Host{{State: install.HostReady}}
	for _, test := range []struct {
		status string
		checks []install.Validation
		hosts  []install.Host
		want   install.ClusterState
	}{
		{"insufficient", nil, known, install.ClusterDraft},
		{"insufficient", checks, nil, install.ClusterDiscovering},
		{"insufficient", checks, discovering, install.ClusterDiscovering},
		{"insufficient", checks, known, install.ClusterBlocked},
		{"ready", nil, nil, install.ClusterReady},
		{"levitating", checks, known, install.ClusterUnknown},
	} {
		if got := install.ClusterStateOf(test.status).Refined(test.checks, test.hosts); got != test.want {
			t.Errorf("%s, %v %v: got %s, want %s", test.status, test.checks, test.hosts, got, test.want)
		}
	}
}

// A role is the same after it went over the wire and back.
func TestRoles(t *testing.T) {
	for _, role := range []install.Role{install.RoleControlPlane, install.RoleWorker, install.RoleArbiter, install.RoleAuto} {
		if got := install.RoleOf(install.RoleWord(role)); got != role {
			t.Errorf("%s is %s to the service, and comes back as %s", role, install.RoleWord(role), got)
		}
	}
	if got := install.HostStateOf("glowing"); got != install.HostUnknown {
		t.Errorf("got %s", got)
	}
}
