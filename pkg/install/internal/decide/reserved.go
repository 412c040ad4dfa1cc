package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// isReserved says whether a host of the file is one of a pool that was reserved for it, and runs the
// pool's image already.
func isReserved(want *spec.Host) bool { return want != nil && want.Match.Agent != "" }

// unapproved says whether a host that is reserved may not be used, since nobody has approved it: a
// reservation is no approval, and oaictl approves nothing in a pool.
func (p *planner) unapproved(h *model.Host) bool {
	if h.Reserved == "" || !asksApproval(h) || approved(h) {
		return false
	}
	name := p.hostName(h)
	namespace, agent, _ := strings.Cut(h.Reserved, "/")
	p.block(model.Blocker{
		Key: "host/" + p.hostID(h) + "/approval", Scope: model.HostScope(p.hostID(h)), Reason: "AgentNotApproved", Cure: model.CurePerson, Since: h.Registered,
		Field: p.hostField(name) + "match.agent", Hosts: []string{name},
		Message: fmt.Sprintf("the Agent %s is reserved for %s, and nobody has approved it", h.Reserved, name),
		Remedy: advice.Sprintf("if the machine may be installed, whoever looks after the pool approves it: kubectl patch agent -n %s %s --type merge -p '{\"spec\":{\"approved\":true}}'",
			namespace, agent),
	})
	return true
}

// bindReserved binds a host of a pool. What the file says of it goes along, since an installed
// cluster installs what is approved as soon as it is bound.
func (p *planner) bindReserved(want *spec.Host, have *model.Host, bind model.Action) {
	update, ok := p.hostUpdate(want, have)
	if !ok {
		return
	}
	bind.Settings, bind.Changes = update.Settings, append(bind.Changes, update.Changes...)
	if p.cluster != nil && p.cluster.State.Installed() && approved(have) {
		bind.Destructive = true
		p.wipes(want.Name, have)
	}
	p.act(bind)
}

// awaitReserved tells of a reserved host that the service does not have, or that is not what else
// the file says of it. The install waits for it as for one that has not registered.
func (p *planner) awaitReserved(want *spec.Host, wait model.Wait) {
	what := fmt.Sprintf("there is no host %s", want.Match.Agent)
	if slices.ContainsFunc(p.observed.Hosts, func(h model.Host) bool { return h.Reserved == want.Match.Agent }) {
		what = fmt.Sprintf("the host %s is not the one that match says", want.Match.Agent)
	}
	remedy := advice.Text("see that it is there, or correct match.agent of " + want.Name + ": {get hosts}")
	if !wait.Until.IsZero() {
		wait.For, wait.Next = want.Name+": "+what, remedy
		p.wait(wait)
		return
	}
	p.block(model.Blocker{
		Key: "host/" + want.Name + "/reserved", Scope: model.HostScope(want.Name), Reason: "AgentNotFound", Cure: model.CurePerson,
		Field: p.hostField(want.Name) + "match.agent", Message: want.Name + ": " + what, Remedy: remedy, Hosts: []string{want.Name},
	})
}
