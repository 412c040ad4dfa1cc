package decide

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// isReserved reports whether a host of the file is one of a pool that was reserved for it, and runs the pool's image
// already.
func isReserved(want *spec.Host) bool { return want != nil && want.Match.Agent != "" }

// awaitReserved reports a reserved host that the service does not have, or that does not match what else the file says
// of it. The install waits for it as for one that has not registered.
func (p *planner) awaitReserved(want *spec.Host, wait model.Wait) {
	what := fmt.Sprintf("there is no host %s", want.Match.Agent)
	if slices.ContainsFunc(p.observed.Hosts, func(h model.Host) bool { return h.Reserved == want.Match.Agent }) {
		what = fmt.Sprintf("the host %s is not the one that match says", want.Match.Agent)
	}
	remedy := model.Advice("see that it is there, or correct match.agent of " + want.Name + ": {get hosts}")
	if !wait.Until.IsZero() {
		wait.For, wait.Next = want.Name+": "+what, remedy
		p.wait(wait)
		return
	}
	p.block(model.Blocker{
		Key: "host/" + want.Name + "/reserved", Scope: model.ScopeHost.Of(want.Name), Reason: "AgentNotFound", Cure: model.CurePerson,
		Field: p.hostField(want.Name) + "match.agent", Message: want.Name + ": " + what, Remedy: remedy, Hosts: []string{want.Name},
	})
}
