package decide

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// unapproved reports whether a reserved host may not be used because it is not approved: a reservation is no approval,
// and oaictl approves nothing in a pool.
func (p *planner) unapproved(h *model.Host) bool {
	if h.Reserved == "" || !asksApproval(h) || approved(h) {
		return false
	}
	name := p.roster.Call(h)
	namespace, agent, _ := strings.Cut(h.Reserved, "/")
	p.block(model.Blocker{
		Key: "host/" + p.roster.id(h) + "/approval", Scope: model.HostScope(p.roster.id(h)), Reason: "AgentNotApproved", Cure: model.CurePerson, Since: h.Registered,
		Field: hostField(name) + "match.agent", Hosts: []string{name},
		Message: fmt.Sprintf("the Agent %s is reserved for %s, and nobody has approved it", h.Reserved, name),
		Remedy: model.Advicef("if the machine may be installed, whoever looks after the pool approves it: kubectl patch agent -n %s %s --type merge -p '{\"spec\":{\"approved\":true}}'",
			namespace, agent),
	})
	return true
}
