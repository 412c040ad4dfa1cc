package install

import (
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Decide compares what is desired with what was observed and says what to do next, what the loop can only wait for,
// what blocks it, and when it has waited for long enough. It is pure: the same arguments give the same plan. now is a
// moment on the service's clock. Without memory, as for a single look, a state that the service does not date counts as
// old.
func Decide(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) model.Plan {
	return decide.Decide(desired, observed, memory, now)
}

// InfraEnvPlans are the InfraEnvs of a cluster: one, or one for each CPU architecture where the
// cluster's is multi, and further ones where the static networks of the hosts do not fit into the
// discovery Ignition of one. have are those that the service has already: a host whose network is
// in one of them stays there.
func InfraEnvPlans(c *spec.Cluster, have []model.InfraEnv) ([]model.InfraEnvPlan, error) {
	return infraenv.Plans(c, have)
}
