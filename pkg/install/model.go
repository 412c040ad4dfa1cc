package install

import (
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Decide compares what is desired with what was observed and says what to do
// next, what can only be waited for, what stands in the way, and when a loop has
// waited for long enough. It is pure: the same arguments give the same plan. now is
// a moment on the service's clock. Without memory, of a single look, what the service
// does not date counts as having stood for long.
func Decide(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) model.Plan {
	return decide.Decide(desired, observed, memory, now)
}

// Snapshot answers questions about an observation that no plan says, by the same rules: which
// machine is which host (Hosts), what follows on a plan (Then), which image a host boots
// (InfraEnv), whether it has still to (HasToBoot), and which hosts may still read theirs (Reading).
type Snapshot = decide.Snapshot

// NewSnapshot is an observation beside what is desired.
func NewSnapshot(desired *model.Desired, observed *model.Observed) *Snapshot {
	return decide.NewSnapshot(desired, observed)
}

// NamedHost is a machine under the name that cluster.yaml has for it: "" for one that is none of
// its hosts. Its Host is nil while it has not come.
type NamedHost = decide.NamedHost

// InfraEnvPlan is an InfraEnv that the file asks for: its Name, the Arch of its machines, the
// Hosts that boot its image, and its Settings.
type InfraEnvPlan = infraenv.Plan

// InfraEnvPlans are the InfraEnvs of a cluster: one, or one for each CPU architecture where the
// cluster's is multi, and further ones where the static networks of the hosts do not fit into the
// discovery Ignition of one. have are those that the service has already: a host whose network is
// in one of them stays there.
func InfraEnvPlans(c *spec.Cluster, have []model.InfraEnv) ([]InfraEnvPlan, error) {
	return infraenv.Plans(c, have)
}
