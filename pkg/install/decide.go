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

// Snapshot answers questions about an observation that no plan answers, by the same rules.
type Snapshot struct{ of *decide.Snapshot }

// NewSnapshot is an observation beside what is desired.
func NewSnapshot(desired *model.Desired, observed *model.Observed) Snapshot {
	return Snapshot{decide.NewSnapshot(desired, observed)}
}

// Hosts says which observed machine is which host of cluster.yaml: all that a host's match says has to fit. First come
// the hosts of the file in their order, those that have not come among them, then the other machines in the order in
// which they were observed. A second machine that fits a host of the file has no name.
func (s Snapshot) Hosts() []model.NamedHost { return s.of.Hosts() }

// InfraEnv is the one that has the discovery image that a host of the file boots next; false while there is none.
func (s Snapshot) InfraEnv(host string) (model.InfraEnv, bool) { return s.of.InfraEnv(host) }

// HasToBoot reports whether a host of the file has still to boot its discovery image.
func (s Snapshot) HasToBoot(host string) bool { return s.of.HasToBoot(host) }

// Reading names the hosts that may still read their images: of them the BMC had
// it last, and they do not run from their disks yet.
func (s Snapshot) Reading() []string { return s.of.Reading() }

// Then says what follows on a plan until the cluster is installed: what the file
// asks for and Decide will come to once what stands before it is done. It is
// for a person to read; what is done is decided anew each time. Nothing follows
// on a plan that is an end, or that a cluster of another owner blocks.
func (s Snapshot) Then(plan model.Plan) []model.Step { return s.of.Then(plan) }

// InfraEnvPlans are the InfraEnvs of a cluster: one, or one for each CPU architecture where the
// cluster's is multi, and further ones where the static networks of the hosts do not fit into the
// discovery Ignition of one. have are those that the service has already: a host whose network is
// in one of them stays there.
func InfraEnvPlans(c *spec.Cluster, have []model.InfraEnv) ([]model.InfraEnvPlan, error) {
	return infraenv.Plans(c, have)
}
