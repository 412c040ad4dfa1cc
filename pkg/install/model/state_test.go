package model

import "testing"

// A role is the same after it went over the wire and back.
func TestRoles(t *testing.T) {
	for _, role := range []Role{RoleControlPlane, RoleWorker, RoleArbiter, RoleAuto} {
		if got := RoleOf(RoleWord(role)); got != role {
			t.Errorf("%s is %s to the service, and comes back as %s", role, RoleWord(role), got)
		}
	}
	if got := HostStateOf("glowing"); got != HostUnknown {
		t.Errorf("got %s", got)
	}
}
