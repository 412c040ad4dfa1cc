package decide

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// leftAlone are the hosts of the file that are not added, since they may be part
// of the cluster.
func (p *planner) leftAlone() []*spec.Host {
	var alone []*spec.Host
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		if have := p.matches.ByName[want.Name]; membershipOf(have) != member && p.unaccounted(want, have) {
			alone = append(alone, want)
		}
	}
	return alone
}

// accounts names the hosts that are left alone, since it is not known whether they
// are part of the control plane. The others go on, and nobody is to find out only
// after them: the run ends once there is nothing else to do.
func (p *planner) accounts(alone []*spec.Host) {
	cure := model.CureNow
	if !p.idle() || len(p.plan.Waits) > 0 || !p.unhindered() {
		cure = model.CurePerson
	}
	for _, want := range alone {
		what := "the control plane"
		if want.Role == spec.Arbiter {
			what = "the arbiter"
		}
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/record", Scope: model.HostScope(want.Name), Reason: "ControlPlaneUnaccounted", Cure: cure,
			Field: p.hostField(want.Name) + "role", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s may be part of %s that was installed, its record lost by the service: to install it again wipes it", want.Name, what),
			Remedy:  "take it out of the file that add-node is given, or, if it is a new machine or may be wiped: {add-node -f FILE --accept-control-plane}",
		})
	}
}
