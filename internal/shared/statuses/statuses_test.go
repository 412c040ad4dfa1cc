package statuses_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// A role is the same after it went over the wire and back.
func TestRoles(t *testing.T) {
	for _, role := range []spec.Role{spec.ControlPlane, spec.Worker, spec.Arbiter, spec.Auto} {
		if got := statuses.Role(statuses.RoleWord(role)); got != role {
			t.Errorf("%s is %s to the service, and comes back as %s", role, statuses.RoleWord(role), got)
		}
	}
	check.Equal(t, statuses.Host("glowing"), model.HostUnknown)
}
